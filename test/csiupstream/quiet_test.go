package csiupstream

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
)

// quiet lets time pass, lists volumes as the attacher does, and fails for everything that the driver logs as an error or
// does to volumes in that time.
func (w *world) quiet() {
	w.t.Helper()
	since, before := time.Now(), w.calls()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for end := time.After(*quietFor); end != nil; {
		select {
		case <-end:
			end = nil
		case <-tick.C:
			w.listed()
		}
	}
	for _, p := range w.programs {
		for _, l := range w.complaints(p, since) {
			w.t.Errorf("%s, %s %s: %s", p.name, l.Level, l.Caller, l.Text)
		}
		select {
		case exit := <-p.exits:
			w.t.Errorf("%s ended: %v", p.name, exit.Err)
		default:
		}
	}
	after := w.calls()
	maps.DeleteFunc(after, func(method string, n int64) bool { return n == before[method] })
	if len(after) > 0 {
		w.t.Errorf("calls that change volumes, though nobody asked: %v, before: %v", after, before)
	}
}

// settle waits until a method of CNS has not been called for some seconds.
func (w *world) settle(method string) {
	w.t.Helper()
	w.await(method+" is not called any more", func(ctx context.Context) error {
		before := w.calls()[method]
		select {
		case <-ctx.Done():
		case <-time.After(8 * time.Second):
		}
		if n := w.calls()[method] - before; n > 0 {
			return fmt.Errorf("%d calls more", n)
		}
		return nil
	})
}

// calls counts the calls of CNS that change volumes.
func (w *world) calls() map[string]int64 {
	all := map[string]int64{}
	for _, v := range w.VCenters() {
		for _, s := range v.Gate().Stats() {
			if strings.HasPrefix(s.Method, "Cns") && !strings.HasPrefix(s.Method, "CnsQuery") {
				all[s.Method] += s.Calls
			}
		}
	}
	return all
}

// habits are the errors that upstream logs with a healthy vCenter, too: an optional tag category, the CRD that the syncer
// creates shortly after, and node ids, which it first looks up as names.
func habits() []string {
	return []string{
		"cns.vmware.topology-preferred-datastores", "csinodetopologies: the server could not find the requested resource",
		"Node not found with nodeName",
	}
}
