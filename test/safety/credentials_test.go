package safety

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// TestRotation: credentials that are rotated in the Secret are in use within ten seconds, in the same process, and while
// the session made with the old ones is still alive.
func TestRotation(t *testing.T) {
	w := newWorld(t, 1, lab.CCMOptions{})
	pid := w.ccm.PID()
	w.newPassword(t)
	rotated := time.Now()
	w.WriteSecret(nil)
	for !w.loggedInSince(rotated) {
		if time.Since(rotated) > 10*time.Second {
			t.Fatalf("no login with the new credentials\n%s", lab.Tail([]byte(w.ccm.Log()), 4000))
		}
		rest(t.Context(), 20*time.Millisecond)
	}
	t.Logf("in use after %s", time.Since(rotated).Round(time.Millisecond))

	w.at(broken).EndSessions(w.Account(broken).Name) // the remaining old ones
	w.afflict(t, 0)
	w.Await("everything happens that should", deadline, func(nodes lab.NodeSet) string {
		if name := w.node(broken, gone, 0).Name; nodes[name] != nil {
			return name + " is still there"
		}
		return nodes.Lacks(w.node(broken, off, 0).Name, lab.ShutdownTaint)
	})
	if got := w.ccm.PID(); got != pid {
		t.Errorf("the CCM is process %d, was %d", got, pid)
	}
	w.after(t, 1)
}

// loggedInSince reports whether the vCenter has a SOAP session of the CCM's user that is younger than that.
func (w *world) loggedInSince(when time.Time) bool {
	user := w.Account(broken).Name
	for _, s := range w.at(broken).Sessions() {
		if s.User == user && !s.REST && s.Login.After(when) {
			return true
		}
	}
	return false
}

// TestWrongCredentials: with credentials that one vCenter refuses no Node is deleted, and Events say why: on each Node that
// waits to be deleted, and on the Secret.
func TestWrongCredentials(t *testing.T) {
	w := newWorld(t, 1, lab.CCMOptions{})
	struck := time.Now()
	heal := rotated(t, w)
	w.afflict(t, 0)
	refused := regexp.MustCompile(`(?i)\blog ?in\b|password|credential`)
	why := func(e *corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, broken) && refused.MatchString(e.Message)
	}
	for _, about := range []struct{ kind, name string }{
		{"Node", w.node(broken, gone, 0).Name},
		{"Node", w.node(sound, gone, 0).Name},
		{"Secret", lab.SecretName},
	} {
		e, err := w.AwaitEvent(t.Context(), deadline, about.kind, about.name, why)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("after %s: %s %s: %s: %s", time.Since(struck).Round(time.Millisecond), about.kind, about.name, e.Reason, e.Message)
		if strings.Contains(e.Message, strings.TrimSuffix(w.Account(broken).Password, "-next")) {
			t.Errorf("the event tells a password: %s", e.Message)
		}
	}
	rest(t.Context(), window-time.Since(struck))
	for _, c := range w.Nodes.Since(struck) {
		if lab.Deleted(c) {
			t.Errorf("node %s was deleted", c.Node.Name)
		}
	}
	heal()
	w.Await("the nodes that should go are gone", deadline, func(nodes lab.NodeSet) string {
		for _, v := range []string{broken, sound} {
			if name := w.node(v, gone, 0).Name; nodes[name] != nil {
				return name + " is still there"
			}
		}
		return nodes.Lacks(w.node(broken, off, 0).Name, lab.ShutdownTaint)
	})
	w.after(t, 1)
}
