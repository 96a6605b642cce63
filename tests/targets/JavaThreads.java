// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Threads with names, each of which computes in a method of its own, until the end of its input. Says
 * `ready` when all of them do; on each line of input the renamed one gets the name that the line is.
 * With the argument `storm`, memory is collected and compacted again and again, each time that all of
 * them have computed some more, and threads come and go, named by numbers, which run `runShort`.
 */
public final class JavaThreads {
	/** Some milliseconds of CPU time, however busy the machine is. */
	private static final int TURN_ROUNDS = 500_000;

	/** How many each of the named threads has had. */
	private static final AtomicIntegerArray TURNS = new AtomicIntegerArray(5);

	private static volatile long sink;

	private JavaThreads() {}

	private static void burn() {
		for (int i = 0; i < TURN_ROUNDS; i++)
			sink += sink * 31 + 1;
	}

	private static void takeTurn(int thread) {
		burn();
		TURNS.incrementAndGet(thread);
	}

	private static void runLong() {
		for (;;)
			takeTurn(0);
	}

	private static void runWide() {
		for (;;)
			takeTurn(1);
	}

	private static void runOwn() {
		for (;;)
			takeTurn(2);
	}

	private static void runRenamed() {
		for (;;)
			takeTurn(3);
	}

	private static void runAllocating() {
		for (;;) {
			for (int i = 0; i < 100; i++)
				sink += new byte[10_000].length;
			takeTurn(4);
		}
	}

	private static void runShort() {
		burn();
	}

	private static void waitForTurns() throws InterruptedException {
		int[] before = new int[TURNS.length()];
		for (int i = 0; i < before.length; i++)
			before[i] = TURNS.get(i);
		for (int i = 0; i < before.length; i++)
			while (TURNS.get(i) == before[i])
				Thread.sleep(1);
	}

	private static void collect() {
		try {
			for (;;) {
				System.gc();
				waitForTurns();
			}
		} catch (InterruptedException error) {
			throw new AssertionError(error);
		}
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
