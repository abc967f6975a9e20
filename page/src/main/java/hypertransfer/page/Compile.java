package hypertransfer.page;

import java.io.File;
import java.util.Arrays;
import org.teavm.backend.javascript.JSModuleType;
import org.teavm.tooling.ConsoleTeaVMToolLog;
import org.teavm.tooling.TeaVMProblemRenderer;
import org.teavm.tooling.TeaVMTargetType;
import org.teavm.tooling.TeaVMTool;
import org.teavm.tooling.TeaVMToolException;
import org.teavm.vm.TeaVMOptimizationLevel;

/** Writes {@link Formulas} and all that it calls as one file of JavaScript; the build runs it. */
final class Compile {
    private Compile() {}

    public static void main(String[] args) throws TeaVMToolException {
        File script = new File(args[0]);
        ConsoleTeaVMToolLog log = new ConsoleTeaVMToolLog(false);
        TeaVMTool tool = new TeaVMTool();
        tool.setTargetType(TeaVMTargetType.JAVASCRIPT);
        tool.setJsModuleType(JSModuleType.UMD);
        tool.setMainClass(Formulas.class.getName());
        tool.setTargetDirectory(script.getParentFile());
        tool.setTargetFileName(script.getName());
        tool.setOptimizationLevel(TeaVMOptimizationLevel.ADVANCED);
        tool.setObfuscated(true);
        tool.setClassLoader(Compile.class.getClassLoader());
        tool.setClassPath(Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(File::new)
                .toList());
        tool.setLog(log);
        tool.generate();
        TeaVMProblemRenderer.describeProblems(tool.getDependencyInfo().getCallGraph(), tool.getProblemProvider(), log);
        if (!tool.getProblemProvider().getSevereProblems().isEmpty()) {
            System.exit(1);
        }
    }
}
