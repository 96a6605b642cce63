// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * One long chain of calls, through whatever kinds of calls and of frames Java has, to leaves that
 * differ in what they spend their time with: `JavaChains WAYS CALLS [fresh]`, WAYS being names of
 * leaves between commas. It
 *
 * <ul>
 * <li>warms up by so many CALLS of each, until all is compiled that will be,
 * <li>prints `thread TID`, `chain LEAF CLASS.METHOD@FILE:LINE...` (leaf first, as the JVM has it) for
 *     each of WAYS, and `ready`,
 * <li>goes each of WAYS in turn until its input ends. After a line of that its thread is called
 *     "in_spin" while it goes to the leaf "spin".
 * </ul>
 *
 * Most leaves keep at it for a whole turn. Of "touch" and "raise" a turn is as many ways there and
 * back as fit in: to a leaf that does nothing, and to one that throws.
 *
 * What runs it has to show hidden frames (-XX:+ShowHiddenFrames), and be told to keep all of a chain
 * (-XX:MaxJavaStackTraceDepth). Java 8 has no "pause".
 *
 * With `fresh`, a class in the middle of the chain is another one all the time.
 */
public final class JavaChains implements Runnable {
	private static final int TURN_MS = 40;
	private static final int TURN_WAITS = 50; // at most, each of which is of a turn's time
	private static final int WARM_TURN_MS = 2;
	private static final int WARM_TURNS = 20;
	private static final int WARM_ROUNDS = 2; // of a leaf in a call while it warms up
	private static final int LINKS = 8;
	private static final int FRESH_MS = 4;
	private static final int FRESH_EACH_GC = 24;

	/** A class that calls on, of which there may be many. */
	public interface Link {
		long pass(int way, long x);
	}

	private interface Shape {
		long measure(int way, long x);
	}

	private interface Step {
		long step(int way, long x);
	}

	private static final class Cube implements Shape, Step {
		@Override
		public long measure(int way, long x) {
			return x;
		}

		@Override
		public long step(int way, long x) {
			return x;
		}
	}

	// Read before a call and used after it, so that they have to be kept in the frame.
	private static final long[] LONGS = new long[40];
	private static final double[] REALS = new double[16];
	private static final Shape[] SHAPES = {new Circle(), new Square(), new Triangle()};
	private static final Object[] CUBES = {new Cube(), new Cube()};
	private static final Class<?>[] KINDS = {Shape.class, Step.class, Link.class, Cube.class};
	private static final Object[][] FULL = {new Cube[] {new Cube()}, new Cube[] {new Cube()}};
	private static final Object[][] EMPTY = {new Shape[1], new Step[1]};
	private static final Step[] STEPS = {
		(way, x) -> handle(way, x + 3),
		(way, x) -> handle(way, x ^ 5) + way,
	};
	private static final MethodHandle HANDLE = find("handled");
	private static final IllegalStateException RAISED = new IllegalStateException();

	private static volatile int turn;
	private static volatile int turnMs = WARM_TURN_MS;
	private static int mine = -1; // the worker's turn
	private static volatile boolean telling;
	private static volatile boolean isWanted;
	private static String told;
	private static volatile Link link;
	private static Link[] links; // of as many classes
	private static volatile Object kept;
	private static volatile long result;

	private static final byte[] BYTES = new byte[4096];
	private static final char[] LETTERS = new char[600];
	private static final String TEXT;
	private static final Deflater DEFLATER = new Deflater();
	private static final CRC32 CHECKSUM = new CRC32();

	static {
		for (int i = 0; i < LONGS.length; i++)
			LONGS[i] = i * 0x9e3779b97f4a7c15L;
		for (int i = 0; i < REALS.length; i++)
			REALS[i] = 1 + i / 16.0;
		for (int i = 0; i < BYTES.length; i++)
			BYTES[i] = (byte)(i * i >> 3);
		for (int i = 0; i < LETTERS.length; i++)
			LETTERS[i] = (char)('a' + i % 25);
		TEXT = new String(LETTERS);
	}

	private static final List<String> LEAVES = Arrays.asList("spin", "copy", "hash", "checksum", "deflate",
		"clock", "sine", "pause", "allocate", "touch", "raise", "invoke", "cast", "spread", "ask");
	private static final String[] NAMES =
		LEAVES.stream().map(leaf -> "in_" + leaf).toArray(String[]::new);
	private static final int SPIN = 0;
	private static final int COPY = 1;
	private static final int HASH = 2;
	private static final int CRC = 3;
	private static final int DEFLATE = 4;
	private static final int CLOCK = 5;
	private static final int SINE = 6;
	private static final int PAUSE = 7;
	private static final int ALLOCATE = 8;
	private static final int TOUCH = 9;
	private static final int RAISE = 10;
	private static final int INVOKE = 11;
	private static final int CAST = 12;
	private static final int SPREAD = 13;

	private static final MethodHandle[] COUNTS = {
		findCount("bitCount"), findCount("numberOfLeadingZeros"), findCount("numberOfTrailingZeros")
	};

	private static MethodHandle findCount(String name) {
		try {
			MethodType type = MethodType.methodType(int.class, long.class);
			return MethodHandles.lookup().findStatic(Long.class, name, type);
		} catch (ReflectiveOperationException error) {
			throw new ExceptionInInitializerError(error);
		}
	}

	private static MethodHandle find(String name) {
		try {
			MethodType type = MethodType.methodType(long.class, int.class, long.class);
			return MethodHandles.lookup().findStatic(JavaChains.class, name, type);
		} catch (ReflectiveOperationException error) {
			throw new ExceptionInInitializerError(error);
		}
	}

	// ---- the chain, from its root ----

	private static long begin(int way, long x) {
		return longs(way, x) + 1;
	}

	private static long longs(int way, long x) {
		long a = LONGS[0], b = LONGS[1], c = LONGS[2], d = LONGS[3], e = LONGS[4], f = LONGS[5];
		long g = LONGS[6], h = LONGS[7], i = LONGS[8], j = LONGS[9], k = LONGS[10];
		long y = reals(way, x + a);
		return y + a - b + (c ^ d) - e + (f ^ g) - h + (i ^ j) - k;
	}

	private static long reals(int way, long x) {
		double a = REALS[0], b = REALS[1], c = REALS[2], d = REALS[3], e = REALS[4];
		double f = REALS[5], g = REALS[6], h = REALS[7], i = REALS[8], j = REALS[9];
		int n = (int)x;
		long y = many(way, x, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, a, b, c, d, e, f,
			g, h, i, j);
		return y + (long)(a * b + c * d + e * f + g * h + i * j);
	}

	/** More arguments than there are registers for. */
	private static long many(int way, long x, int a, int b, int c, int d, int e, int f, int g, int h,
			double i, double j, double k, double l, double m, double n, double o, double p, double q,
			double r) {
		long y = locked(way, x + a + b + c + d);
		return y + e + f + g + h + (long)(i + j + k + l + m + n + o + p + q + r);
	}

	private static synchronized long locked(int way, long x) {
		return caught(way, x + 1) + LONGS[3];
	}

	private static long caught(int way, long x) {
		long a = LONGS[1];
		try {
			return recurse(way, x, 5) + a;
		} catch (IllegalStateException error) {
			return a;
		}
	}

	private static long recurse(int way, long x, int depth) {
		long a = LONGS[depth];
		return depth == 0 ? linked(way, x) + a : recurse(way, x + 1, depth - 1) - a;
	}

	private static long linked(int way, long x) {
		return link.pass(way, x) + 1;
	}

	/** Is also defined anew by loaders of its own, for which all that it uses has to be public. */
	public static final class Passing implements Link {
		@Override
		public long pass(int way, long x) {
			return shaped(way, x) + way;
		}
	}

	public static long shaped(int way, long x) {
		return SHAPES[way % SHAPES.length].measure(way, x) + 1;
	}

	private static final class Circle implements Shape {
		@Override
		public long measure(int way, long x) {
			return stepped(way, x) + 1;
		}
	}

	private static final class Square implements Shape {
		@Override
		public long measure(int way, long x) {
			long a = LONGS[5], b = LONGS[6];
			return stepped(way, x) + a * b;
		}
	}

	private static final class Triangle implements Shape {
		@Override
		public synchronized long measure(int way, long x) {
			double a = REALS[5], b = REALS[6], c = REALS[7];
			return stepped(way, x) + (long)(a * b * c);
		}
	}

	private static long stepped(int way, long x) {
		return STEPS[way % STEPS.length].step(way, x) + 1;
	}

	private static long handle(int way, long x) {
		try {
			return (long)HANDLE.invokeExact(way, x) + 1;
		} catch (IllegalStateException error) {
			throw error;
		} catch (Throwable error) {
			throw new AssertionError(error);
		}
	}

	private static long handled(int way, long x) {
		return large(way, x) + 1;
	}

	/** Of more bytes than an offset of one byte reaches. */
	private static long large(int way, long x) {
		long a = LONGS[0], b = LONGS[1], c = LONGS[2], d = LONGS[3], e = LONGS[4], f = LONGS[5];
		long g = LONGS[6], h = LONGS[7], i = LONGS[8], j = LONGS[9], k = LONGS[10], l = LONGS[11];
		long m = LONGS[12], n = LONGS[13], o = LONGS[14], p = LONGS[15], q = LONGS[16];
		long r = LONGS[17], s = LONGS[18], t = LONGS[19], u = LONGS[20], v = LONGS[21];
		long w = LONGS[22], y = LONGS[23], z = LONGS[24];
		long back = choose(way, x + a);
		back += (a ^ b) - (c ^ d) + (e ^ f) - (g ^ h) + (i ^ j) - (k ^ l) + (m ^ n) - (o ^ p);
		return back + (q ^ r) - (s ^ t) + (u ^ v) - (w ^ y) + z;
	}

	private static long choose(int way, long x) {
		if (telling)
			return tell(x);
		switch (way) {
		case SPIN:
			return spin(x) + 1;
		case COPY:
			return copy(x) + 1;
		case HASH:
			return hash(x) + 1;
		case CRC:
			return checksum(x) + 1;
		case DEFLATE:
			return deflate(x) + 1;
		case CLOCK:
			return clock(x) + 1;
		case SINE:
			return sine(x) + 1;
		case PAUSE:
			return pause(x) + 1;
		case ALLOCATE:
			return allocate(x) + 1;
		case TOUCH:
			return touch(x) + 1;
		case RAISE:
			return raise(x) + 1;
		case INVOKE:
			return invoke(x) + 1;
		case CAST:
			return cast(x) + 1;
		case SPREAD:
			return spread(x) + 1;
		default:
			return ask(x) + 1;
		}
	}

	// ---- its leaves ----


	private static long spin(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		return x;
	}

	private static long copy(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			byte[] bytes = Arrays.copyOf(BYTES, 1000 + (int)(x & 2047));
			System.arraycopy(BYTES, 100, bytes, 17, 900);
			x += bytes[500];
		}
		return x;
	}

	private static long hash(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			x += Arrays.hashCode(LETTERS) + TEXT.indexOf('z') + TEXT.indexOf("yb");
			x += TEXT.compareTo("abcdefghij") + new String(LETTERS, (int)(x & 15), 500).hashCode();
		}
		return x;
	}

	private static long checksum(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			CHECKSUM.update(BYTES, 0, BYTES.length);
			x += CHECKSUM.getValue();
		}
		return x;
	}

	/** In C. */
	private static long deflate(long x) {
		int until = mine;
		byte[] output = new byte[400];
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			DEFLATER.reset();
			DEFLATER.setInput(BYTES, 0, 200);
			DEFLATER.finish();
			x += DEFLATER.deflate(output);
		}
		return x;
	}

	private static long clock(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++)
			x += System.nanoTime();
		return x;
	}

	private static long sine(long x) {
		int until = mine;
		double y = x & 1023;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++)
			y += Math.sin(y) + Math.pow(y, 0.3) + Math.log10(y + 2);
		return (long)y;
	}

	private static long pause(long x) {
		int until = mine;
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			Thread.onSpinWait();
			x++;
		}
		return x;
	}

	private static long allocate(long x) {
		int until = mine;
		Object[][] ring = new Object[1024][];
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++)
			ring[i * 7 & 1023] = new Object[] {new int[16 + (i & 255)], new long[i & 31]};
		kept = ring;
		return x;
	}

	/** Handles of which the compiler does not know which it is, so that it calls what calls it. */
	private static long invoke(long x) {
		int until = mine;
		try {
			for (int i = 0; i < WARM_ROUNDS || turn == until; i++)
				x += (int)COUNTS[i % COUNTS.length].invokeExact(x + i);
		} catch (Throwable error) {
			throw new AssertionError(error);
		}
		return x;
	}

	/** Of an object to interfaces in turn: a class remembers one of which it is. */
	private static long cast(long x) {
		int until = mine;
		Object of = CUBES[(int)(x & 1)];
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			if (of instanceof Shape)
				x += i;
			if (of instanceof Step)
				x ^= i;
		}
		return x;
	}

	/** Arrays to arrays of interfaces in turn, of which the compiler knows only that they are arrays. */
	private static long spread(long x) {
		int until = mine;
		Object[] from = FULL[(int)(x & 1)];
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			Object[] to = EMPTY[i & 1];
			System.arraycopy(from, 0, to, 0, 1);
			x += i;
		}
		return x;
	}

	/** Classes and interfaces, of which the compiler does not know which it is, for an object of one. */
	private static long ask(long x) {
		int until = mine;
		Object of = CUBES[(int)(x & 1)];
		for (int i = 0; i < WARM_ROUNDS || turn == until; i++) {
			if (KINDS[i & 3].isInstance(of))
				x += i;
		}
		return x;
	}

	private static long touch(long x) {
		return x ^ turn;
	}

	private static long raise(long x) {
		if (x != result) // always; nobody knows
			throw RAISED;
		return x;
	}

	// ---- what it tells ----

	private static long tell(long x) {
		told = Arrays.stream(new Throwable().getStackTrace())
			.skip(1)
			.map(frame
				-> String.format("%s.%s@%s:%d", frame.getClassName(), frame.getMethodName(),
					frame.getFileName(), frame.getLineNumber()))
			.collect(Collectors.joining(" "));
		return x;
	}

	/** Those of the ways, as lines; as if called by runTurn(). */
	private static String tellChains(int[] ways) {
		StringBuilder text = new StringBuilder();
		telling = true;
		for (int way : ways) {
			String leaf = LEAVES.get(way);
			runWay(way);
			String chain = told.replace(".tellChains@", ".runTurn@");
			text.append(String.format("chain %s JavaChains.%s@-:0 %s\n", leaf, leaf, chain));
		}
		telling = false;
		return text.toString();
	}

	// ---- the worker ----

	private static final class Loader extends ClassLoader {
		private final byte[] code;

		Loader(byte[] code) {
			super(JavaChains.class.getClassLoader());
			this.code = code;
		}

		Link create() {
			try {
				Class<?> made = defineClass(Passing.class.getName(), code, 0, code.length);
				return (Link)made.getDeclaredConstructor().newInstance();
			} catch (ReflectiveOperationException error) {
				throw new AssertionError(error);
			}
		}
	}

	private static byte[] readCode() throws IOException {
		String name = Passing.class.getName() + ".class";
		try (InputStream input = JavaChains.class.getResourceAsStream(name)) {
			ByteArrayOutputStream output = new ByteArrayOutputStream();
			byte[] part = new byte[4096];
			for (int count; (count = input.read(part)) > 0;)
				output.write(part, 0, count);
			return output.toByteArray();
		}
	}

	private static void runWay(int way) {
		result = begin(way, way);
	}

	private static void runTurn(int way) {
		mine = turn;
		do
			runWay(way);
		while (turn == mine);
	}

	private static void warm(int[] ways, int calls) {
		for (int i = 0; i < calls; i++) {
			link = links[i % links.length];
			mine = -1;
			for (int way : ways)
				runWay(way);
		}
	}

	private final int[] ways;
	private final int calls;
	private final boolean isFresh;

	private JavaChains(int[] ways, int calls, boolean isFresh) {
		this.ways = ways;
		this.calls = calls;
		this.isFresh = isFresh;
	}

	private static void makeLinks() throws IOException {
		links = new Link[LINKS];
		for (int i = 0; i < links.length; i++)
			links[i] = new Loader(readCode()).create();
	}

	private void warmTurns() {
		long walker = Thread.currentThread().getId();
		startDaemon("turns", () -> countTurns(walker));
		for (int i = 0; i < WARM_TURNS; i++) {
			for (int way : ways)
				runTurn(way);
		}
		turnMs = TURN_MS;
	}

	private static void sayReady(String chains) throws IOException {
		Path self = Files.readSymbolicLink(Paths.get("/proc/thread-self"));
		System.out.printf("thread %s\n%sready\n", self.getFileName(), chains);
		System.out.flush();
	}

	@Override
	public void run() {
		try {
			makeLinks();
			warm(ways, calls);
			String chains = tellChains(ways);
			warm(ways, calls); // what the telling has changed
			warmTurns();
			if (isFresh)
				startDaemon("fresh", JavaChains::makeFresh);
			sayReady(chains);
		} catch (IOException error) {
			throw new AssertionError(error);
		}
		for (;;) {
			for (int way : ways) {
				if (isWanted)
					Thread.currentThread().setName(NAMES[way]);
				runTurn(way);
			}
		}
	}

	/**
	 * Where the thread that goes the ways has a CPU now and then only, a turn lasts longer, so that it
	 * is not on the way to its leaves for most of the time that it has. One leaf hardly uses any.
	 */
	private static void countTurns(long walker) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		for (;;) {
			long end = threads.getThreadCpuTime(walker) + turnMs * 1_000_000L / 2;
			int waits = 0;
			do
				sleep(turnMs);
			while (threads.getThreadCpuTime(walker) < end && ++waits < TURN_WAITS);
			turn++;
		}
	}

	private static void makeFresh() {
		try {
			byte[] code = readCode();
			for (int i = 0;; i++) {
				sleep(FRESH_MS);
				link = new Loader(code).create();
				if (i % FRESH_EACH_GC == 0)
					System.gc(); // unloads the former ones, and frees what they were compiled to
			}
		} catch (IOException error) {
			throw new AssertionError(error);
		}
	}

	private static void sleep(int milliseconds) {
		try {
			Thread.sleep(milliseconds);
		} catch (InterruptedException error) {
			throw new AssertionError(error);
		}
	}

	private static void startDaemon(String name, Runnable action) {
		Thread thread = new Thread(action, name);
		thread.setDaemon(true);
		thread.start();
	}

	public static void main(String[] arguments) throws IOException {
		int[] ways = Arrays.stream(arguments[0].split(",")).mapToInt(LEAVES::indexOf).toArray();
		int calls = Integer.parseInt(arguments[1]);
		startDaemon("warming", new JavaChains(ways, calls, arguments.length > 2));
		if (System.in.read() >= 0)
			isWanted = true;
		while (System.in.read() >= 0)
			;
	}
}
