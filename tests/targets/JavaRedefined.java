// SPDX-License-Identifier: Apache-2.0

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Replaces the class Shown all the time while a thread runs it: `JavaRedefined WAY FILE...`, with a
 * file of the class for each of its versions. WAY is `redefine`, which only an agent may, so this is
 * one, too; or `reload`, by another loader each. A version calls first(), second() or third(), and
 * runOpen() its open(), runShut() its shut(): so each stack tells which method of which version is
 * on it.
 *
 * Prints `ready`, and ends with its input.
 */
public final class JavaRedefined {
	private static final long SPIN_NS = 1_000_000;
	private static final int KEPT_MS = 25; // a version
	private static final int EACH_GC = 8; // versions

	/** What Shown is. */
	public interface Shop {
		long open(long x);

		long shut(long x);
	}

	private static final class Loader extends ClassLoader {
		Shop make(byte[] version) throws ReflectiveOperationException {
			Class<?> made = defineClass("Shown", version, 0, version.length);
			return (Shop)made.getConstructor().newInstance();
		}
	}

	private static Instrumentation instrumentation;
	private static volatile Shop shop;
	private static volatile long result;

	public static void premain(String arguments, Instrumentation given) {
		instrumentation = given;
	}

	public static long first(long x) {
		return spin(x, System.nanoTime() + SPIN_NS);
	}

	public static long second(long x) {
		return spin(x, System.nanoTime() + SPIN_NS);
	}

	public static long third(long x) {
		return spin(x, System.nanoTime() + SPIN_NS);
	}

	private static long spin(long x, long untilNs) {
		do
			for (int i = 0; i < 1000; i++)
				x = x * 31 + i;
		while (System.nanoTime() - untilNs < 0);
		return x;
	}

	private static long runOpen(long x) {
		return shop.open(x) + 1;
	}

	private static long runShut(long x) {
		return shop.shut(x) + 1;
	}

	private static void run() {
		while (true)
			result = runShut(runOpen(result));
	}

	private static void replace(byte[] version, boolean isReloaded) throws Exception {
		if (isReloaded)
			shop = new Loader().make(version);
		else
			instrumentation.redefineClasses(new ClassDefinition(shop.getClass(), version));
	}

	private static void replaceAll(List<byte[]> versions, boolean isReloaded) throws Exception {
		for (int number = 0; System.in.available() == 0; number++) {
			replace(versions.get(number % versions.size()), isReloaded);
			// Versions of before are freed when they are found to be on no stack.
			if (number % EACH_GC == 0)
				System.gc();
			Thread.sleep(KEPT_MS);
		}
	}

	public static void main(String[] arguments) throws Exception {
		List<byte[]> versions = new ArrayList<>();
		for (int i = 1; i < arguments.length; i++) {
			Path path = Paths.get(arguments[i]);
			versions.add(Files.readAllBytes(path));
		}
		shop = new Loader().make(versions.get(0));
		Thread thread = new Thread(JavaRedefined::run, "runs it");
		thread.setDaemon(true);
		thread.start();
		System.out.println("ready");
		replaceAll(versions, arguments[0].equals("reload"));
	}
}
