package safety

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

const (
	// window is how long a fault lasts at least after everything has happened to the nodes: timeouts of calls and polls
	// pass in it, and more than ten rounds of the node lifecycle controller.
	window = 8 * time.Second
	// patience is how long what has to happen during a fault may take.
	patience = 25 * time.Second
	// deadline is how long what has to happen after it may take.
	deadline = 40 * time.Second
)

// mode is what becomes of the CCM while the fault is in force.
type mode string

const (
	runsOn    mode = "running"   // nothing
	restarted mode = "restarted" // it is killed, and another process takes its place
	swapped   mode = "swapped"   // it is stopped in order, logs out, and another process takes its place
)

// row is a fault with a CCM that runs on, or whose place another takes.
type row struct {
	fault fault
	mode  mode
}

func (r row) name() string { return r.fault.name + "/" + string(r.mode) }

func (r row) core() bool { return r.mode == r.fault.core }

// rows are all of the matrix, in its order.
func rows() []row {
	var all []row
	for _, f := range faults() {
		for _, m := range f.modes {
			all = append(all, row{f, m})
		}
	}
	return all
}

// cell is the place of a Node in a row.
type cell struct {
	vcenter string
	state   state
}

func cells() []cell {
	var all []cell
	for _, v := range []string{broken, sound} {
		for _, s := range states() {
			all = append(all, cell{v, s})
		}
	}
	return all
}

// line is a row with what came out.
type line struct {
	row
	verdicts map[cell]verdict
	took     time.Duration
}

// run has the fault happen to the nodes with that number.
func (r row) run(t *testing.T, w *world, number int) line {
	t.Helper()
	began := time.Now()
	before := map[cell]*lab.Snapshot{}
	nodes := w.Nodes.Now()
	for _, c := range cells() {
		if n := nodes[w.node(c.vcenter, c.state, number).Name]; n != nil {
			s := lab.SnapshotOf(n)
			before[c] = &s
		}
	}
	times := when{struck: time.Now()}
	heal := sync.OnceFunc(r.fault.strike(t, w, number))
	defer heal() // the rows after a failure are to tell something
	healFirst := func() {}
	if r.fault.first != nil {
		healFirst = sync.OnceFunc(r.fault.first.strike(t, w, number))
	}
	defer healFirst()
	// The next one knows nothing of before, and was not there when it happened.
	var err error
	switch r.mode {
	case restarted:
		err = w.ccm.Kill()
	case swapped:
		err = w.ccm.Stop()
	case runsOn:
	}
	if err != nil {
		t.Fatal(err)
	}
	w.afflict(t, number)
	w.ccm.Start()

	judged := func() map[cell]verdict { return r.judge(w, number, before, times) }
	// Far in the future as long as it lasts.
	times.healed = time.Now().Add(time.Hour)
	if r.fault.first != nil {
		rest(t.Context(), window)
		healFirst()
	}
	endured := time.Now()
	_ = w.Nodes.Await(t.Context(), patience, func(lab.NodeSet) string { return r.missing(judged(), true) })
	rest(t.Context(), window-time.Since(endured))

	times.healed = time.Now()
	heal()
	_ = w.Nodes.Await(t.Context(), deadline, func(lab.NodeSet) string { return r.missing(judged(), false) })
	return line{row: r, verdicts: judged(), took: time.Since(began)}
}

// rest lets time pass in which nothing is to happen.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// afflict brings the nodes of a row into their states.
func (w *world) afflict(t *testing.T, number int) {
	t.Helper()
	var g errgroup.Group
	for _, v := range []string{broken, sound} {
		w.Kubelets.Register(w.node(v, joining, number))
		ill, dark, dead := w.node(v, notReady, number), w.node(v, off, number), w.node(v, gone, number)
		g.Go(func() error { return w.Kubelets.Fail(t.Context(), ill.Name) })
		g.Go(func() error {
			if err := dark.PowerOff(t.Context()); err != nil {
				return err
			}
			return w.Kubelets.Fail(t.Context(), dark.Name)
		})
		g.Go(func() error {
			if err := dead.Destroy(t.Context()); err != nil {
				return err
			}
			return w.Kubelets.Fail(t.Context(), dead.Name)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// judge looks at all nodes of a row.
func (r row) judge(w *world, number int, before map[cell]*lab.Snapshot, times when) map[cell]verdict {
	history, verdicts := w.Nodes.Since(times.struck), map[cell]verdict{}
	for _, c := range cells() {
		name := w.node(c.vcenter, c.state, number).Name
		verdicts[c] = judge(r.expect(c), fateOf(name, before[c], history), times)
	}
	return verdicts
}

func (r row) expect(c cell) expectation {
	e := expectation{
		state: c.state, broken: c.vcenter == broken,
		answer: r.fault.answers.of(r.mode), zones: r.fault.zones.of(r.mode),
	}
	if !e.broken && r.fault.sound != nil {
		e.answer = r.fault.sound.of(r.mode)
	}
	return e
}

// missing complains of what has not happened yet: during the fault, only of what has to happen during it.
func (r row) missing(verdicts map[cell]verdict, during bool) string {
	verdicts = maps.Clone(verdicts)
	if during {
		maps.DeleteFunc(verdicts, func(c cell, _ verdict) bool { return r.expect(c).late() })
	}
	for c, v := range verdicts {
		if v.pending {
			return fmt.Sprintf("%s at %s: %s", c.state, c.vcenter, v.text)
		}
	}
	return ""
}
