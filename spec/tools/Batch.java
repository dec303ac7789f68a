// SPDX-License-Identifier: PostgreSQL
// Runs TLC several times in one JVM: what a short run costs is mostly the loading of classes and their compilation.
//
//     java -cp tla2tools.jar:batch.jar Batch LIST
//
// Each line of LIST is one run: the file for its output, then the arguments of TLC, with tabs between. For each run that
// is over a line "LOG<tab>EXIT CODE<tab>SECONDS<tab>CPU SECONDS" goes to standard output. A run that ends the JVM ends the batch: whoever
// started it runs the others elsewhere.
//
// TLC is made for one run a JVM and keeps static state. The locations of definitions are forgotten before each run: a
// definition that one run has and the next has not could be taken for another. More is kept, for instance that an earlier
// run violated a liveness property. So all runs must be of one module, and must violate a safety property:
// spec/tools/batch.py says what is done with a run that does not.

import com.sun.management.OperatingSystemMXBean;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import tlc2.TLC;
import tlc2.TLCGlobals;
import tlc2.output.EC;
import util.SimpleFilenameToStream;
import util.ToolIO;
import util.UniqueString;

final class Batch {
    private static final int NO_LOCATION = -1;
    private static final int FAILED = 255;

    public static void main(String[] arguments) throws Exception {
        PrintStream report = System.out;
        var process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] fields = line.split("\t");
            long began = System.nanoTime();
            long cpuBegan = process.getProcessCpuTime();
            int exitCode = FAILED;
            try (PrintStream log = new PrintStream(fields[0])) {
                ToolIO.out = log;
                ToolIO.err = log;
                System.setOut(log);
                System.setErr(log);
                try {
                    exitCode = check(Arrays.copyOfRange(fields, 1, fields.length));
                } catch (RuntimeException | StackOverflowError error) {
                    error.printStackTrace(log);
                }
            }
            double seconds = (System.nanoTime() - began) / 1e9;
            double cpuSeconds = (process.getProcessCpuTime() - cpuBegan) / 1e9;
            report.printf("%s\t%d\t%.2f\t%.2f%n", fields[0], exitCode, seconds, cpuSeconds);
            report.flush();
        }
        System.exit(0); // TLC may have left threads behind
    }

    /** One run of TLC; its exit code, as tlc2.TLC's main would give it. */
    private static int check(String[] arguments) {
        TLCGlobals.mainChecker = null;
        TLCGlobals.simulator = null;
        TLCGlobals.metaDir = null;
        TLCGlobals.coverageInterval = -1;
        UniqueString.internTbl.toMap().values().forEach(name -> name.setLoc(NO_LOCATION));
        TLC tlc = new TLC();
        if (!tlc.handleParameters(arguments)) {
            return 1;
        }
        tlc.setResolver(new SimpleFilenameToStream());
        return EC.ExitStatus.errorConstantToExitStatus(tlc.process());
    }
}
