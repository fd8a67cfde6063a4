package up

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

func TestProgress(t *testing.T) {
	const clear = "\r\x1b[K"
	long := strings.Repeat("ü", 100)
	step := func(n int, name, detail string) sandbox.Progress {
		return sandbox.Progress{Step: n, Steps: 9, Name: name, Detail: detail}
	}
	done := func(n int, name string, took time.Duration) sandbox.Progress {
		return sandbox.Progress{Step: n, Steps: 9, Name: name, Done: true, Took: took}
	}
	for _, tc := range []struct {
		name string
		play func(*progress)
		// What is written, elsewhere and on a terminal.
		plain, tty string
	}{
		{
			name:  "nothing",
			play:  func(*progress) { time.Sleep(time.Minute) },
			plain: "", tty: "",
		},
		{
			name: "a quick step",
			play: func(p *progress) {
				p.show(step(1, "etcd", ""))
				p.show(done(1, "etcd", 1500*time.Millisecond))
				time.Sleep(time.Minute) // there is nothing to wait for
			},
			plain: "  ✓ etcd                         1.50s\n",
			tty:   "  … etcd" + clear + "  ✓ etcd                         1.50s\n",
		},
		{
			name: "a slow step that waits for one thing and then another",
			play: func(p *progress) {
				p.show(step(1, "nodes", ""))
				time.Sleep(3 * time.Second)
				p.show(step(1, "nodes", "a"))
				time.Sleep(3 * time.Second)
				p.show(step(1, "nodes", "b"))
				time.Sleep(3 * time.Second)
				p.show(done(1, "nodes", 9*time.Second))
			},
			plain: "  … nodes: a (4s)\n  … nodes: b (8s)\n  ✓ nodes                        9.00s\n",
			tty: "  … nodes" + clear + "  … nodes: a" + clear + "  … nodes: a" + clear + "  … nodes: b" + clear + "  … nodes: b" + clear +
				"  ✓ nodes                        9.00s\n",
		},
		{
			name: "the next step has a time of its own",
			play: func(p *progress) {
				p.show(step(1, "a", ""))
				time.Sleep(3 * time.Second)
				p.show(step(2, "b", ""))
				time.Sleep(3 * time.Second) // the beat at 4 s is too early for it
				p.show(step(3, "c", long))
			},
			plain: "",
			tty:   "  … a" + clear + "  … b" + clear + "  … c: " + strings.Repeat("ü", 78-7),
		},
	} {
		for where, tty := range map[string]bool{"plain": false, "terminal": true} {
			t.Run(tc.name+", "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var b bytes.Buffer
					p := newProgress(&b, tty)
					tc.play(p)
					before := b.Len()
					p.close()
					want, end := tc.plain, ""
					if tty {
						want = tc.tty
						if strings.Contains(want, "…") && !strings.HasSuffix(want, "\n") {
							end = clear
						}
					}
					if diff := cmp.Diff(want, b.String()[:before]); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
					if got := b.String()[before:]; got != end {
						t.Errorf("at the end: %q, want %q", got, end)
					}
					p.close()
					p.show(step(9, "late", ""))
					time.Sleep(time.Minute)
					if got := b.String()[before+len(end):]; got != "" {
						t.Errorf("after the end: %q", got)
					}
				})
			})
		}
	}
}

func TestBuildsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := event.NewLog(16)
		log.Append(event.Event{Kind: "ccm.swapped", Message: "told before"})
		var out bytes.Buffer
		end := reportBuilds(t.Context(), &out, log)
		synctest.Wait()
		for _, e := range []event.Event{
			{Kind: "ccm.rebuilt", Message: "bin/ccm was built again (0123456789ab)"},
			{Kind: "vm.power-off", Message: "not of this"},
			{Kind: "ccm.swap-failed", Message: "bin/ccm: exit status 1; back to bin/ccm"},
		} {
			log.Append(e)
		}
		synctest.Wait()
		end()
		if want := "ccm: bin/ccm was built again (0123456789ab)\nccm: ✗ bin/ccm: exit status 1; back to bin/ccm\n"; out.String() != want {
			t.Errorf("got %q", out.String())
		}
	})
}

// Buffered output is written in order when the writer is released, and later output at once.
func TestHeldWriter(t *testing.T) {
	var heard strings.Builder
	c := &heldWriter{w: &heard, holding: true}
	fmt.Fprintln(c, "one")
	fmt.Fprintln(c, "two")
	if heard.Len() > 0 {
		t.Errorf("heard %q through it", heard.String())
	}
	var releasing sync.WaitGroup
	for range 3 { // as at the end of the UI, and of the sandbox
		releasing.Go(c.release)
	}
	releasing.Wait()
	fmt.Fprintln(c, "three")
	if got := heard.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("heard %q", got)
	}
}

// A sandbox without a screen has nothing to close.
func TestNoScreen(t *testing.T) {
	var s *screen
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// breaking takes one write, and fails one.
type breaking struct{ bytes.Buffer }

func (b *breaking) Write(p []byte) (int, error) {
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("!")) {
		b.WriteByte('!')
		return 0, errors.New("broken")
	}
	return b.Buffer.Write(p)
}

func TestStickyWriter(t *testing.T) {
	var b breaking
	v := &stickyWriter{w: &b}
	for n := range 4 {
		_, err := fmt.Fprint(v, n)
		if (err != nil) != (n > 0) {
			t.Errorf("write %d: %v", n, err)
		}
	}
	if b.String() != "0!" {
		t.Errorf("written: %q", b.String())
	}
}
