package reported

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

var ccmPath = flag.String("ccm", "", "another cloud controller manager, of which is told what ours is held to")

func TestReported(t *testing.T) {
	all := phases()
	w := &ground{t: t, theirs: *ccmPath != "", binary: binary(t)}
	w.Lab = lab.Start(t, lab.Options{Topology: topologyText(all), Speed: 10})
	var notified table
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			p.start(w)
			ccm := w.ccm
			if len(p.together) > 0 {
				t.Run("together", func(t *testing.T) { w.together(t, p.together, &notified) })
			}
			for _, r := range p.inTurn {
				t.Run(r.saw, func(t *testing.T) { w.try(t, r, &notified) })
			}
			if err := w.stop(); err != nil {
				t.Error(err)
			}
			for _, exit := range ccm.Exits() {
				if w.theirs {
					t.Logf("ended by itself: %s", lab.Tail([]byte(exit), 1500))
				} else {
					t.Errorf("the CCM ended by itself: %s", exit)
				}
			}
			if t.Failed() {
				t.Logf("%s", lab.Tail([]byte(ccm.Log()), 6000))
			}
		})
	}
	if testing.Verbose() {
		notified.print(os.Stdout, all, w.theirs)
	}
}

// together returns when all have been tried.
func (w *ground) together(t *testing.T, reports []report, notified *table) {
	for _, r := range reports {
		t.Run(r.saw, func(t *testing.T) {
			t.Parallel()
			w.try(t, r, notified)
		})
	}
}

// try tries one. What comes out with another CCM fails nothing.
func (w *ground) try(t *testing.T, r report, notified *table) {
	ctx := t.Context()
	err := r.run(ctx, w)
	if end := w.forget(ctx, r); end != nil {
		t.Error(end)
	}
	notified.add(r, err)
	switch {
	case err != nil && w.theirs:
		t.Logf("reproduces the report: %v", err)
	case err != nil:
		t.Error(err)
	}
}

// binary is the CCM's. Ours is built once.
func binary(t *testing.T) string {
	t.Helper()
	path := *ccmPath
	if path == "" {
		path = os.Getenv("VSPHERE_CCM_BIN")
	}
	if path == "" {
		path = filepath.Join(t.TempDir(), "vsphere-cloud-controller-manager")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/vsphere-cloud-controller-manager")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build of our cloud controller manager: %v\n%s", err, out)
		}
		t.Setenv("VSPHERE_CCM_BIN", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
