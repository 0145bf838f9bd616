import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.ReentrantLock;

/** Threads take turns with a ReentrantLock, or make garbage in a small heap; they measure what it costs. */
public class Ledger {
	static final ReentrantLock lock = new ReentrantLock();
	static long waited;
	static volatile Object kept;

	static void book() throws InterruptedException {
		for (int i = 0; i < 150; i++) {
			long begun = System.nanoTime();
			lock.lock();
			try {
				waited += System.nanoTime() - begun;
				Thread.sleep(1);
			} finally {
				lock.unlock();
			}
		}
	}

	static void collect() {
		Object[] live = new Object[40000];
		for (int i = 0; i < 3_000_000; i++) {
			live[i % live.length] = new byte[200];
			kept = live;
		}
	}

	interface Work {
		void run() throws Exception;
	}

	static Thread start(Work work) {
		Thread thread = new Thread(() -> {
			try { work.run(); } catch (Exception failure) { throw new RuntimeException(failure); }
		});
		thread.start();
		return thread;
	}

	public static void main(String[] arguments) throws Exception {
		boolean garbage = arguments[0].equals("garbage");
		Thread[] threads = new Thread[garbage ? 2 : 4];
		for (int i = 0; i < threads.length; i++) threads[i] = start(garbage ? Ledger::collect : Ledger::book);
		for (Thread thread : threads) thread.join();
		long paused = 0;
		for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) paused += collector.getCollectionTime();
		System.out.println("truth waited_ns " + waited);
		System.out.println("truth paused_ns " + paused * 1_000_000);
	}
}
