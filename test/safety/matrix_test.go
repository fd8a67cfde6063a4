package safety

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

var (
	rowsFlag = flag.String("rows", "", "go through the rows of the matrix whose names match this expression, \"hung/restarted\" for one")
	withFlag = flag.String("with", "", "more flags for the CCM, with spaces between them, \"--parity=upstream\" for one")
	coreFlag = flag.Bool("core", false, "go through the few rows that stand for all of them; so does -short")
	ccmFlag  = flag.String("ccm", "", "try this CCM, as the cluster's admin, in the place of ours")
)

// TestMatrix: with any fault of a vCenter, no Node that should stay is lost, every Node that should go goes when the
// fault is over, and the Nodes at the other vCenter are managed all the time.
func TestMatrix(t *testing.T) {
	began := time.Now()
	rows := pick(t)
	w := newWorld(t, len(rows), lab.CCMOptions{
		Path: *ccmFlag, Admin: *ccmFlag != "", Args: strings.Fields(*withFlag),
	})
	var lines []line
	for i, r := range rows {
		t.Run(r.name(), func(t *testing.T) {
			l := r.run(t, w, i)
			lines = append(lines, l)
			for c, v := range l.verdicts {
				if !v.ok {
					t.Errorf("%s at %s: %s\n%s", c.state, c.vcenter, v, v.detail)
				}
			}
		})
	}
	t.Logf("%d rows in %s\n%s", len(lines), time.Since(began).Round(time.Second), table(lines))
	w.after(t, len(rows))
}

// pick returns the rows that the flags want. -rows comes before -core.
func pick(t *testing.T) []row {
	t.Helper()
	re, err := regexp.Compile(*rowsFlag)
	if err != nil {
		t.Fatal(err)
	}
	core := *rowsFlag == "" && (*coreFlag || testing.Short())
	picked := slices.DeleteFunc(rows(), func(r row) bool { return !re.MatchString(r.name()) || core && !r.core() })
	if len(picked) == 0 {
		t.Fatalf("no row matches %q", *rowsFlag)
	}
	return picked
}

// after checks what must hold at the end: no Node of another row was lost, the CCM never exited, and it has only made
// requests that its manifest permits.
func (w *world) after(t *testing.T, rows int) {
	t.Helper()
	rest(t.Context(), 4*period)
	nodes := w.Nodes.Now()
	for i := range rows {
		for _, c := range cells() {
			switch name := w.node(c.vcenter, c.state, i).Name; {
			case c.state == gone && nodes[name] != nil:
				t.Errorf("node %s is still there in the end", name)
			case c.state == gone:
			case nodes[name] == nil:
				t.Errorf("node %s is lost in the end", name)
			case lab.HasTaint(nodes[name], lab.ShutdownTaint) != (c.state == off):
				t.Errorf("node %s has taints %v in the end", name, nodes[name].Spec.Taints)
			}
		}
	}
	for _, exit := range w.ccm.Exits() {
		t.Errorf("the CCM ended by itself: %s", exit)
	}
	if *ccmFlag != "" {
		return
	}
	for _, what := range w.Refused(lab.ServiceAccountUser) {
		t.Errorf("the CCM was refused: %s", what)
	}
	if t.Failed() {
		t.Logf("end of the CCM's log:\n%s", lab.Tail([]byte(w.ccm.Log()), 4000))
	}
}
