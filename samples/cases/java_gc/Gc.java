// A heap that is nearly full: four request threads keep 280 MB alive in a heap of 420 MB, and the collector stops them for
// most of the time. They share no lock.
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;

class Gc {
    static final int THREADS = 4;
    static final int ENTRIES = 9000;
    static final Map<Integer, byte[]> live = new ConcurrentHashMap<>();

    static void serve(int number, long end) {
        SplittableRandom random = new SplittableRandom(number);
        while (System.nanoTime() < end) {
            live.put(number * ENTRIES + random.nextInt(ENTRIES), new byte[8000]);
        }
    }

    public static void main(String[] words) throws InterruptedException {
        long end = System.nanoTime() + 4_000_000_000L;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> serve(number, end), "request-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long milliseconds = 0;
        for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            milliseconds += collector.getCollectionTime();
        }
        System.out.println("truth collecting_ns " + milliseconds * 1_000_000);
    }
}
