package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/RECIPES.md: every command of it, in its order, on a network of seconds. */
class RecipesTest {
    private static final List<String> SMALL = List.of(
            "engine=cpu",
            "model.layers=1",
            "model.width=16",
            "model.head=8",
            "model.sequence=16",
            "model.batch=2",
            "steps=12",
            "validation.batches=1");

    @TempDir
    Path out;

    @Test
    void everyCommandWorks() throws Exception {
        Files.writeString(out.resolve("norms.csv"), """
                step,matrix,weight_norm,update_norm,inner_product,rate,decay
                0,fc,2.0,0.3,0.1,0.1,0.1
                1,fc,2.0,0.3,0.1,0.1,0.1
                """);
        List<String> commands = Files.readAllLines(Path.of("..", "docs", "RECIPES.md")).stream()
                .filter(line -> line.startsWith("    ht "))
                .map(line -> line.strip().substring(3))
                .toList();
        assertThat(commands).hasSizeGreaterThan(15);
        Ht ht = new Ht();
        for (String command : commands) {
            List<String> words = new ArrayList<>();
            for (String word : command.split(" +")) {
                words.add(word.replace("runs/", "../runs/").replace("out/", out + "/"));
            }
            if (words.getFirst().equals("train")) {
                SMALL.forEach(setting -> words.addAll(List.of("--set", setting)));
            }
            assertThat(ht.run(words)).as(command + ": " + ht.err()).isZero();
        }
    }
}
