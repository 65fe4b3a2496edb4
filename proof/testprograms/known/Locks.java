/** Four threads sleep in turn with a monitor. */
public class Locks {
    static final Object held = new Object();
    static int n = 0;

    static void work() {
        for (int j = 0; j < 20; j++) {
            synchronized (held) {
                n++;
                try {
                    Thread.sleep(2);
                } catch (InterruptedException e) {
                }
            }
        }
    }

    public static void main(String[] a) throws Exception {
        Thread[] all = new Thread[4];
        for (int i = 0; i < 4; i++) {
            all[i] = new Thread(Locks::work);
            all[i].start();
        }
        for (Thread one : all)
            one.join();
        System.out.println(n);
    }
}
