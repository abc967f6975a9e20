package hypertransfer.engine.foreign;

import hypertransfer.engine.EngineException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One of CUDA's shared libraries, found on this machine: in a CUDA install, or in the folders of a PyTorch install. */
public record Library(Path path, int major) {
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
                        return new Library(path, major);
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
        Set<Path> found = new LinkedHashSet<>();
        for (String folder : paths(environment, "LD_LIBRARY_PATH")) {
            add(found, Path.of(folder));
        }
        for (String home : List.of("CUDA_HOME", "CUDA_PATH")) {
            for (String folder : paths(environment, home)) {
                install(found, Path.of(folder));
            }
        }
        install(found, root.resolve("usr/local/cuda"));
        list(root.resolve("usr/local"), "cuda-*").forEach(install -> install(found, install));
        for (String arch : List.of("x86_64-linux-gnu", "aarch64-linux-gnu")) {
            add(found, root.resolve("usr/lib").resolve(arch));
        }
        add(found, root.resolve("usr/lib64"));
        for (Path prefix : pythons(environment, root)) {
            for (String packages : List.of("site-packages", "dist-packages")) {
                for (Path python : list(prefix.resolve("lib"), "python3*")) {
                    list(python.resolve(packages).resolve("nvidia"), "*")
                            .forEach(part -> add(found, part.resolve("lib")));
                }
            }
        }
        return List.copyOf(found);
    }

    /** Folders that may hold lib/python3.x: virtual environments and where python3 itself lives. */
    private static Set<Path> pythons(Map<String, String> environment, Path root) {
        Set<Path> prefixes = new LinkedHashSet<>();
        for (String name : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
            paths(environment, name).forEach(path -> prefixes.add(Path.of(path)));
        }
        for (String folder : paths(environment, "PATH")) {
            Path bin = Path.of(folder);
            if (bin.getParent() != null && Files.exists(bin.resolve("python3"))) {
                prefixes.add(bin.getParent());
            }
        }
        for (String home : paths(environment, "HOME")) {
            prefixes.add(Path.of(home, ".local"));
        }
        prefixes.add(root.resolve("usr/local"));
        prefixes.add(root.resolve("usr"));
        return prefixes;
    }

    private static void install(Set<Path> found, Path home) {
        add(found, home.resolve("lib64"));
        add(found, home.resolve("lib"));
    }

    private static void add(Set<Path> found, Path folder) {
        if (Files.isDirectory(folder)) {
            found.add(folder);
        }
    }

    private static List<String> paths(Map<String, String> environment, String name) {
        return List.of(environment.getOrDefault(name, "").split(":")).stream()
                .filter(path -> !path.isBlank())
                .toList();
    }

    /** The paths in a folder that match a pattern, the highest name first, so that newer releases come first. */
    private static List<Path> list(Path folder, String pattern) {
        List<Path> paths = new ArrayList<>();
        if (Files.isDirectory(folder)) {
            try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder, pattern)) {
                stream.forEach(paths::add);
            } catch (IOException e) {
                return List.of(); // nothing can be loaded from a folder that cannot be read
            }
        }
        paths.sort((a, b) -> b.compareTo(a));
        return paths;
    }
}
