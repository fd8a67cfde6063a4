package react

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		l := startLoop()
		add := func(name string, d time.Duration) { l.after(d, func() { got = append(got, name) }) }
		add("third", 2*time.Second)
		add("second", time.Second)
		add("fourth", 2*time.Second)
		l.soon(func() {
			got = append(got, "first")
			l.soon(func() { got = append(got, "and one more") })
		})
		add("never", time.Hour)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		l.close()
		l.close()
		l.soon(func() { got = append(got, "too late") })
		if want := []string{"first", "and one more", "second", "third", "fourth"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
