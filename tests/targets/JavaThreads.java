// SPDX-License-Identifier: Apache-2.0

/**
 * Threads with names, each of which computes in a method of its own, until the end of its input. Says
 * `ready` when all of them do; on each line of input the renamed one gets the name that the line is.
 * With the argument `storm`, memory is collected and compacted all the time, and threads come and go,
 * named by numbers, which run `runShort`.
 */
public final class JavaThreads {
	private static final long TURN_NS = 20_000_000;

	private static volatile long sink;

	private JavaThreads() {}

	private static void burn() {
		long end = System.nanoTime() + TURN_NS;
		while (System.nanoTime() < end)
			sink += sink * 31 + 1;
	}

	private static void runLong() {
		for (;;)
			burn();
	}

	private static void runWide() {
		for (;;)
			burn();
	}

	private static void runOwn() {
		for (;;)
			burn();
	}

	private static void runRenamed() {
		for (;;)
			burn();
	}

	private static void runAllocating() {
		for (;;) {
			for (int i = 0; i < 100; i++)
				sink += new byte[10_000].length;
			burn();
		}
	}

	private static void runShort() {
		burn();
	}

	private static void collect() {
		for (;;)
			System.gc();
	}

	private static void comeAndGo() {
		try {
			for (int i = 0;; i++)
				start(new Thread(JavaThreads::runShort, "short-lived thread " + i)).join();
		} catch (InterruptedException error) {
			throw new AssertionError(error);
		}
	}

	/** A class of its own, as frameworks have. */
	private static final class Worker extends Thread {
		Worker() {
			super("worker of its own class");
		}

		@Override
		public void run() {
			runOwn();
		}
	}

	private static Thread start(Thread thread) {
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	public static void main(String[] arguments) throws java.io.IOException {
		start(new Thread(JavaThreads::runLong, "a name of more than fifteen bytes"));
		start(new Thread(JavaThreads::runWide, "Größe \u03b1\u4e2d\ud83d\ude00"));
		start(new Thread(JavaThreads::runAllocating, "allocating all the time"));
		start(new Worker());
		Thread renamed = start(new Thread(JavaThreads::runRenamed, "name of before"));
		if (arguments.length > 0) {
			start(new Thread(JavaThreads::collect, "collecting"));
			start(new Thread(JavaThreads::comeAndGo, "coming and going"));
		}
		System.out.println("ready");
		java.io.BufferedReader in = new java.io.BufferedReader(
			new java.io.InputStreamReader(System.in));
		for (String line = in.readLine(); line != null; line = in.readLine())
			renamed.setName(line);
	}
}
