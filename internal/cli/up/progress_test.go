package up

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
