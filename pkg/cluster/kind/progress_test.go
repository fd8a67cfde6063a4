package kind

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	for said, want := range map[string]string{
		" • Preparing nodes 📦 📦 📦   ...\n":    "preparing nodes",
		"Creating cluster \"x\" ...\n":        "creating cluster \"x\"",
		" • Starting control-plane 🕹️  ...\n": "starting control-plane",
		"Have a nice day! 👋":                  "have a nice day!",
		"WARNING: here":                       "WARNING: here",
		"  ":                                  "",
		"⚡":                                   "",
	} {
		if got := plain(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// Each step is said once, as it begins; what kubeadm says is kept, the latest of it.
func TestLogger(t *testing.T) {
	var said []string
	s := speak(func(line string) { said = append(said, line) })
	l := &logger{say: s.say}
	l.V(0).Infof(" • %s  ...\n", "Installing CNI 🔌")
	l.V(0).Infof(" ✓ %s\n", "Installing CNI 🔌")
	l.V(0).Infof(" ✗ %s\n", "Joining worker nodes 🚜")
	l.V(0).Info("")
	l.V(3).Info("one\ntwo")
	l.Warnf("careful with %d", 1)
	l.Error("oh")
	s.stop()
	if diff := cmp.Diff([]string{"installing CNI", "kind: careful with 1", "kind: oh"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.step() != "installing CNI" || !slices.Equal(l.output(), []string{"one", "two"}) {
		t.Errorf("step %q, output %q", l.step(), l.output())
	}
	for range keptLines {
		l.V(1).Info("more")
	}
	if got := l.output(); len(got) != keptLines || got[0] != "more" {
		t.Errorf("%d lines, %q first", len(got), got[0])
	}
}

// A terminal is not silent for five seconds.
func TestSilenceIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		s := speak(func(line string) { said = append(said, line) })
		time.Sleep(10 * time.Second) // no step has begun, so none is repeated
		s.say("joining %s", "nodes")
		time.Sleep(9 * time.Second)
		s.say("done")
		s.stop()
		s.say("after the end")
		if diff := cmp.Diff([]string{"joining nodes", "still joining nodes (4s)", "still joining nodes (8s)", "done"}, said); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLines(t *testing.T) {
	var said []string
	w := &lines{say: func(_ string, args ...any) { said = append(said, args[0].(string)) }}
	for _, part := range []string{"lay", "er 1\rlayer 1 done\n\n", "layer 2\nrest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	if diff := cmp.Diff([]string{"layer 1", "layer 1 done", "layer 2"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
