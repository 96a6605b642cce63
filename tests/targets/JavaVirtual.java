// SPDX-License-Identifier: Apache-2.0

/**
 * A virtual thread that computes in `burn` below a recursion of `deep`, and sleeps each time, so that
 * when it goes on most of its frames stay in the heap. With an argument it never sleeps: all of them
 * are on the stack. Prints `ready` when it runs.
 */
public final class JavaVirtual {
	private static final int DEPTH = 30;
	private static final long TURN_NS = 20_000_000;

	private static volatile long sink;
	private static boolean sleeps;

	private JavaVirtual() {}

	private static void burn() {
		long end = System.nanoTime() + TURN_NS;
		while (System.nanoTime() < end)
			sink += sink * 31 + 1;
	}

	private static void deep(int left) throws InterruptedException {
		if (left > 0) {
			deep(left - 1);
			sink++;
			return;
		}
		for (;;) {
			if (sleeps)
				Thread.sleep(1);
			burn();
		}
	}

	private static void begin() {
		try {
			System.out.println("ready");
			deep(DEPTH);
		} catch (InterruptedException error) {
			throw new AssertionError(error);
		}
	}

	public static void main(String[] arguments) throws InterruptedException {
		sleeps = arguments.length == 0;
		Thread.ofVirtual().start(JavaVirtual::begin).join();
	}
}
