package hypertransfer.engine.foreign;

import hypertransfer.engine.EngineException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One of CUDA's shared libraries, found on this machine: in a CUDA install, or in the folders of a PyTorch install. */
public record Library(Path path) {
    /** The releases this engine was written for, the newest first. */
    static final List<Integer> MAJORS = List.of(13, 12);

    public Native open() {
        return Functions.open(path.toString())
                .orElseThrow(() ->
                        new EngineException(path + " is there but cannot be loaded; is it built for this processor?"));
    }

    /**
     * The newest library of that name that the driver can work with.
     *
     * @param stem {@code libnvrtc.so}, say
     * @param behind how many numbers the library's releases are behind CUDA's
     * @param driver the driver's major CUDA release: a newer library would not run on it
     */
    public static Library find(String stem, int behind, int driver, List<Path> folders) {
        List<String> names = new ArrayList<>();
        for (int major : MAJORS) {
            if (major <= driver) {
                names.add(stem + "." + (major - behind));
                for (Path folder : folders) {
                    Path path = folder.resolve(names.getLast());
                    if (Files.exists(path)) {
                        return new Library(path);
                    }
                }
            }
        }
        throw new EngineException("no " + String.join(" or ", names) + " in "
                + (folders.isEmpty() ? "any known folder" : folders)
                + "; install the CUDA toolkit (or PyTorch with CUDA), or name the folder in LD_LIBRARY_PATH");
    }

    /** Where CUDA's libraries may be, in the order of search; only folders that exist. */
    public static List<Path> folders(Map<String, String> environment, Path root) {
        List<Path> places = new ArrayList<>(paths(environment, "LD_LIBRARY_PATH"));
        List<Path> installs = new ArrayList<>(paths(environment, "CUDA_HOME"));
        installs.addAll(paths(environment, "CUDA_PATH"));
        installs.add(root.resolve("usr/local/cuda"));
        installs.addAll(list(root.resolve("usr/local"), "cuda-*"));
        for (Path install : installs) {
            places.add(install.resolve("lib64"));
            places.add(install.resolve("lib"));
        }
        for (String folder : List.of("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64")) {
            places.add(root.resolve(folder));
        }
        for (Path prefix : pythons(environment, root)) {
            for (String packages : List.of("site-packages", "dist-packages")) {
                for (Path python : list(prefix.resolve("lib"), "python3*")) {
                    list(python.resolve(packages).resolve("nvidia"), "*")
                            .forEach(part -> places.add(part.resolve("lib")));
                }
            }
        }
        return places.stream().filter(Files::isDirectory).distinct().toList();
    }

    /** Folders that may hold lib/python3.x: virtual environments and where python3 itself lives. */
    private static Set<Path> pythons(Map<String, String> environment, Path root) {
        Set<Path> prefixes = new LinkedHashSet<>();
        prefixes.addAll(paths(environment, "VIRTUAL_ENV"));
        prefixes.addAll(paths(environment, "CONDA_PREFIX"));
        for (Path bin : paths(environment, "PATH")) {
            if (bin.getParent() != null && Files.exists(bin.resolve("python3"))) {
                prefixes.add(bin.getParent());
            }
        }
        paths(environment, "HOME").forEach(home -> prefixes.add(home.resolve(".local")));
        prefixes.add(root.resolve("usr/local"));
        prefixes.add(root.resolve("usr"));
        return prefixes;
    }

    /** The paths of a variable, which has a colon between them. */
    public static List<Path> paths(Map<String, String> environment, String name) {
        return Arrays.stream(environment.getOrDefault(name, "").split(":"))
                .filter(path -> !path.isBlank())
                .map(Path::of)
                .toList();
    }

    /** The paths in a folder that match a pattern, the highest name first, so that newer releases come first. */
    private static List<Path> list(Path folder, String pattern) {
        List<Path> paths = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder, pattern)) {
            stream.forEach(paths::add);
        } catch (IOException e) {
            return List.of(); // nothing can be loaded from a folder that is not there, or cannot be read
        }
        paths.sort((a, b) -> b.compareTo(a));
        return paths;
    }
}
