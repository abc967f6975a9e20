package hypertransfer.train.ranks;

import hypertransfer.core.Refusal;
import hypertransfer.engine.ranks.Ranks;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What must be the same at all ranks, or they would train different runs. */
public final class Agreement {
    private Agreement() {}

    /** Refuses ranks that differ, at every rank with the same sentence, which names the first key that differs. */
    public static void compare(Ranks ranks, Map<String, String> facts) {
        String own = facts.entrySet().stream()
                .map(fact -> oneLine(fact.getKey()) + "\t" + oneLine(fact.getValue()))
                .collect(Collectors.joining("\n"));
        List<Map<String, String>> all = new ArrayList<>();
        for (String text : ranks.texts(own)) {
            Map<String, String> theirs = new LinkedHashMap<>();
            for (String line : text.lines().toList()) {
                String[] fact = line.split("\t", 2);
                theirs.put(fact[0], fact.length == 2 ? fact[1] : ""); // another version may write it in another way
            }
            all.add(theirs);
        }
        Set<String> keys = new LinkedHashSet<>();
        all.forEach(theirs -> keys.addAll(theirs.keySet()));
        for (String key : keys) {
            for (int rank = 1; rank < all.size(); rank++) {
                String here = all.getFirst().getOrDefault(key, "absent"),
                        there = all.get(rank).getOrDefault(key, "absent");
                if (!here.equals(there)) {
                    throw new Refusal(
                            "the ranks differ: " + key + " is " + here + " at rank 0 and " + there
                                    + " at rank " + rank
                                    + "; start all with the same program, configuration and files, on a file system they share");
                }
            }
        }
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s+", " ");
    }
}
