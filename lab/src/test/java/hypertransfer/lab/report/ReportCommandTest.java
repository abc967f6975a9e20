package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import hypertransfer.lab.Ht;
import hypertransfer.train.log.RunLock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportCommandTest {
    @TempDir
    Path folder;

    @Test
    void writesWhereItIsToldAndSaysSo() throws IOException {
        SyntheticRun.pairs(folder, 20);
        Path out = folder.resolve("pages/all.html");
        assertThat(new Ht().fine("report", folder, "--out", out))
                .contains("muon, hypertransfer, muonh, inverse")
                .contains(out.toUri().toString());
        Path page = folder.resolve("page.html"); // it was written before --pdf was refused, with exit code 6
        assertThat(new Ht().refused("report", folder, "--out", page, "--pdf", folder))
                .contains("--pdf is '" + folder + "', which is not a file but a directory");
        assertThat(new Ht().refused("report", folder, "--out", folder)).contains("--out is '" + folder + "'");
        assertThat(page).doesNotExist();
        assertThat(out).content().startsWith("<!doctype html>").doesNotContainPattern("\\{\\{\\w+}}");
    }

    /** A line named each of a hundred. */
    @Test
    void manyRunsAreCounted() throws IOException {
        for (int i = 1; i <= 13; i++) {
            new SyntheticRun(folder.resolve("run-" + i), 0, "steps=2").finished();
        }
        assertThat(new Ht().fine("report", folder, "--out", folder.resolve("all.html")))
                .startsWith("report of 13 runs: file:");
    }

    /** A title and a sentence of one's own, and a PDF of what a browser prints. */
    @Test
    void aPageIsPrinted() throws Exception {
        assertThat(Paper.browser(folder.toString())).as("nothing there").isEmpty();
        Assumptions.assumeTrue(Browser.installed().isPresent(), "no Chromium is installed, so nothing was printed");
        SyntheticRun.pairs(folder, 20);
        Path out = folder.resolve("all.html"), pdf = folder.resolve("all.pdf");
        List<String> words = List.of("--title", "Two <of> them", "--note", "They are \"equal\".");
        assertThat(new Ht().fine("report", folder, "--out", out, "--pdf", pdf, words))
                .contains("printed: " + pdf.toUri());
        assertThat(out).content().contains("\"title\":\"Two \\u003cof> them\",\"note\":\"They are \\\"equal\\\".\"");
        String printed = Files.readString(pdf, StandardCharsets.ISO_8859_1);
        assertThat(printed).startsWith("%PDF-").contains("/MediaBox [0 0 594.95996 841.91998]");
        assertThat(printed.split("/Type /Page\\s").length - 1).as("sheets").isBetween(4, 9);
    }

    @Test
    void targetsComeAlong() throws IOException {
        SyntheticRun.pairs(folder, 20);
        assertThat(write(folder.resolve("inverse"))).containsExactly("muonh", "inverse");
        assertThat(write(folder.resolve("inverse"), folder.resolve("muonh"), folder.resolve("inverse")))
                .containsExactly("muonh", "inverse");
    }

    @Test
    void runsOfOneNameAreToldApart() throws IOException {
        new SyntheticRun(folder.resolve("a/muon"), 0, "steps=20").finished();
        new SyntheticRun(folder.resolve("b/muon"), 0, "steps=20").finished();
        assertThat(write(folder)).containsExactly("a/muon", "b/muon");
    }

    @Test
    void thePageAsksForNothingAndDataCannotEndTheScript() throws IOException {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20", "data.train=</script><b>").finished();
        write(folder);
        String page = Files.readString(folder.resolve("report.html"));
        assertThat(page).contains("\\u003c/script>\\u003cb>").doesNotContain("</script><b>");
        String d3 = page.substring(page.indexOf("// https://d3js.org"), page.indexOf("(() => {\n'use strict'"));
        assertThat(d3).hasSizeGreaterThan(200_000);
        assertThat(page.replace(d3, "").replace("http://www.w3.org/2000/svg", ""))
                .doesNotContainPattern("https?://|src=|@import");
    }

    @Test
    void aRunStillBeingWrittenIsShownAsSuch() throws IOException {
        SyntheticRun run =
                new SyntheticRun(folder.resolve("muon"), 0, "steps=20").begin().append(3, 1);
        try (RunLock _ = RunLock.open(run.directory)) {
            write(folder);
            assertThat(folder.resolve("report.html")).content().contains("\"state\":\"running\"");
        }
        write(folder);
        assertThat(folder.resolve("report.html")).content().contains("\"state\":\"killed\"");
    }

    @Test
    void noRuns() throws IOException {
        refused("a report needs at least one run", new Path[0]);
        refused("there is no directory " + folder.resolve("nowhere"), folder.resolve("nowhere"));
        refused("there is no run in " + folder, folder);
    }

    @Test
    void severalNetworksShareAPage() throws IOException {
        new SyntheticRun(folder.resolve("one"), 0, "steps=20", "network=M1").finished();
        new SyntheticRun(folder.resolve("two"), 0, "steps=20", "network=M2").finished();
        new SyntheticRun(folder.resolve("three"), 0, "steps=20", "network=M1", "model.layers=3").finished();
        assertThat(write(folder)).containsExactly("one", "three", "two");
        assertThat(folder.resolve("report.html"))
                .content()
                .contains("M1 with vocab 256, layers 4", "M2 with vocab 256, layers 4", "M1 with vocab 256, layers 3");
    }

    @Test
    void damagedFiles() throws IOException {
        SyntheticRun run = new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        Path config = run.directory.resolve("config.yaml");
        String good = Files.readString(config);
        Files.writeString(config, "network: M1\nsteps: [1\n");
        refused(config.toRealPath() + " is not YAML", folder);
        Files.writeString(config, "M1\n");
        refused("config.yaml holds no keys", folder);
        Files.writeString(config, good.replaceFirst("layers: \\d+", "layers: many"));
        Path page = folder.resolve("all.html");
        new Ht().fine("report", folder, "--out", page);
        assertThat(page).content().contains("\"layer\":0,\"kind\":\"q\"");
        Files.writeString(config, good);
        run.state("sleeping");
        refused("state.json has state \"sleeping\"", folder);
        Files.delete(run.directory.resolve("provenance.json"));
        refused("provenance.json is missing", folder);
    }

    @Test
    void aFileThatCannotBeWritten() throws IOException {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        assertThatThrownBy(() -> Report.write(null, null, List.of(folder), folder.resolve("muon")))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("cannot write " + folder.resolve("muon"));
    }

    @Test
    void oneRunThatCannotBeReadIsLeftOutAndTold() throws IOException {
        for (String name : List.of("a", "b", "c", "d")) {
            new SyntheticRun(folder.resolve(name), 0, "steps=20").finished();
        }
        Files.writeString(folder.resolve("b/provenance.json"), "{");
        Files.writeString(folder.resolve("c/metrics.jsonl"), "{]\n");
        Files.writeString(
                folder.resolve("d/config.yaml"), "\nstop_above: .inf\ntarget: /\n", StandardOpenOption.APPEND);
        Report report = Report.write(null, null, List.of(folder), folder.resolve("report.html"));
        assertThat(report.names()).contains("a", "c").doesNotContain("b");
        assertThat(report.skipped()).anyMatch(s -> s.contains("provenance.json"));
        assertThat(report.names().size() + report.skipped().size()).isEqualTo(4);
        assertThat(report.damaged())
                .as("for the terminal")
                .singleElement()
                .asString()
                .startsWith("c: metrics.jsonl has 1 damaged line (line 1 is not JSON");
        assertThat(folder.resolve("report.html"))
                .content()
                .contains("\"type\":\"damaged\"", "metrics.jsonl has 1 damaged line (line 1 is not JSON");
    }

    @Test
    void aFullDiskLeavesTheOldPage() throws IOException {
        Path full = Path.of("/dev/full");
        Assumptions.assumeTrue(Files.exists(full), "this system has no /dev/full, so a full disk was not tried");
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        Path page = Files.writeString(folder.resolve("report.html"), "the old page");
        Files.createSymbolicLink(folder.resolve("report.html.part"), full);
        assertThatThrownBy(() -> write(folder))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessage("cannot write " + page + ": No space left on device");
        assertThat(page).hasContent("the old page");
        write(folder);
        assertThat(page).content().startsWith("<!doctype html>").endsWith("</html>\n");
    }

    private List<String> write(Path... places) {
        return Report.write(null, null, List.of(places), folder.resolve("report.html"))
                .names();
    }

    private void refused(String message, Path... places) {
        assertThatThrownBy(() -> write(places)).isInstanceOf(Refusal.class).hasMessageContaining(message);
    }
}
