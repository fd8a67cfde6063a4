package property_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// blocked starts a wait that has nothing to answer, and returns how it ends.
// The collector has seen the wait when it returns.
func blocked(t *testing.T, c *vim25.Client, w *watch) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := methods.WaitForUpdatesEx(context.Background(), c, &types.WaitForUpdatesEx{This: w.pc.Reference(), Version: w.version})
		ended <- err
	}()
	// A wait begins within a moment; a longer one would only make the test
	// weaker, not fail.
	select {
	case err := <-ended:
		t.Fatalf("wait ended at once: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	return ended
}

func ends(t *testing.T, ended <-chan error, want string) {
	t.Helper()
	select {
	case err := <-ended:
		if !strings.Contains(fault(err), want) {
			t.Errorf("wait ended with %v, want %s", err, want)
		}
	case <-time.After(patienceLimit):
		t.Errorf("wait did not end, want %s", want)
	}
}

func TestHowWaitsEnd(t *testing.T) {
	tests := map[string]struct {
		end  func(t *testing.T, v *vcenter, c *vim25.Client, w *watch)
		want string
	}{
		"cancel": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) {
			if err := w.pc.CancelWaitForUpdates(t.Context()); err != nil {
				t.Error(err)
			}
		}, "RequestCanceled"},
		"destroy": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) {
			if err := w.pc.Destroy(t.Context()); err != nil {
				t.Error(err)
			}
		}, "RequestCanceled"},
		"second wait": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) {
			if _, err := w.ask(0); err != nil {
				t.Error(err)
			}
		}, "RequestCanceled"},
		"logout": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) {
			if err := session.NewManager(c).Logout(t.Context()); err != nil {
				t.Error(err)
			}
		}, "NotAuthenticated"},
		"session ended": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) {
			s, err := session.NewManager(c).UserSession(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			v.service.EndSession(s.Key)
		}, "NotAuthenticated"},
		"close": {func(t *testing.T, v *vcenter, c *vim25.Client, w *watch) { v.service.Close() }, "RequestCanceled"},
	}
	for name, test := range tests {
		for kind, collector := range map[string]func(testing.TB, *vim25.Client) *pc.Collector{
			"own":     own,
			"default": func(_ testing.TB, c *vim25.Client) *pc.Collector { return pc.DefaultCollector(c) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				v := newVCenter(t, true, property.Options{}, small)
				c := v.login(t)
				w := newWatch(t, collector(t, c), spec("VirtualMachine", []string{"name"}, v.vms()[0]))
				w.next()
				ended := blocked(t, c, w)
				test.end(t, v, c, w)
				ends(t, ended, test.want)
			})
		}
	}
}

// A wait without a limit ends empty, so that a dead client's wait ends.
func TestWaitIsCapped(t *testing.T) {
	v := newVCenter(t, true, property.Options{MaxWait: 100 * time.Millisecond}, nil)
	c := v.login(t)
	w := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, v.vms()[0]))
	w.next()
	res, err := methods.WaitForUpdatesEx(t.Context(), c, &types.WaitForUpdatesEx{This: w.pc.Reference(), Version: w.version})
	if err != nil || res.Returnval != nil {
		t.Errorf("got %v, %v; want an empty answer", res, err)
	}
	old, err := methods.WaitForUpdates(t.Context(), c, &types.WaitForUpdates{This: w.pc.Reference(), Version: w.version})
	if err != nil || len(old.Returnval.FilterSet) != 0 || old.Returnval.Version != w.version {
		t.Errorf("WaitForUpdates: got %v, %v; want no updates and the same version", old, err)
	}
}

// direct calls the collector without a server, so that time can be virtual.
type direct struct {
	t *testing.T
	v *vcenter
	p *property.PropertyCollector
}

func newDirect(t *testing.T, options property.Options) *direct {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.Machine = 1, 0, 2
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	v := &vcenter{Context: m.Service.Context, model: m}
	s, err := property.Install(v.Context, options)
	if err != nil {
		t.Fatal(err)
	}
	v.service = s
	t.Cleanup(s.Close)
	ref := v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content.PropertyCollector
	return &direct{t, v, v.call().Session.Get(ref).(*property.PropertyCollector)}
}

func (d *direct) filter(f types.CreateFilter) {
	d.t.Helper()
	if res := d.p.CreateFilter(d.v.call(), &f); res.Fault() != nil {
		d.t.Fatal(res.Fault().String)
	}
}

func (d *direct) wait(version string, seconds *int32) (*types.UpdateSet, types.AnyType) {
	res := d.p.WaitForUpdatesEx(d.v.call(), &types.WaitForUpdatesEx{Version: version, Options: &types.WaitOptions{MaxWaitSeconds: seconds}}).(*methods.WaitForUpdatesExBody)
	if res.Fault_ != nil {
		return nil, res.Fault_.Detail.Fault
	}
	return res.Res.Returnval, nil
}

// TestIdleCollector: after minutes without a wait the collector stops listening, and still the next wait delivers everything that
// changed. After half an hour its version is refused instead.
func TestIdleCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirect(t, property.Options{})
		vms := d.v.vms()
		f := spec("VirtualMachine", []string{"name", "guest.hostName"}, vms...)
		f.Spec.ReportMissingObjectsInResults = new(true)
		d.filter(f)
		zero := types.NewInt32(0)
		first, _ := d.wait("", zero)

		time.Sleep(6 * time.Minute)
		d.v.set(vms[0], change("name", "while idle"))
		d.v.Map.Remove(d.v.call(), vms[1])
		second, _ := d.wait(first.Version, zero)
		expect(t, second, "leave "+vms[1].Value, "modify "+vms[0].Value, "  assign name=while idle")

		d.v.set(vms[0], change("name", "listening"))
		third, _ := d.wait(second.Version, zero)
		expect(t, third, "modify "+vms[0].Value, "  assign name=listening")

		time.Sleep(31 * time.Minute)
		if _, fault := d.wait(third.Version, zero); fault == nil {
			t.Error("a forgotten version was accepted")
		} else if _, ok := fault.(*types.InvalidCollectorVersion); !ok {
			t.Errorf("got %T, want InvalidCollectorVersion", fault)
		}
		again, _ := d.wait("", zero)
		expect(t, again, "enter "+vms[0].Value, "  assign name=listening", "  assign guest.hostName=<nil>", "missing "+vms[1].Value)
	})
}

// A wait gathers a burst into one answer, and does not wait for its end.
func TestBurstIsOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirect(t, property.Options{Gather: 5 * time.Millisecond})
		vm := d.v.vms()[0]
		d.filter(spec("VirtualMachine", []string{"name"}, vm))
		first, _ := d.wait("", nil)
		got := make(chan *types.UpdateSet)
		go func() {
			set, _ := d.wait(first.Version, types.NewInt32(60))
			got <- set
		}()
		synctest.Wait()
		start := time.Now()
		for _, name := range []string{"a", "b", "c", "d"} {
			d.v.set(vm, change("name", name))
			time.Sleep(time.Millisecond)
		}
		expect(t, <-got, "modify "+vm.Value, "  assign name=d")
		if took := time.Since(start); took != 5*time.Millisecond {
			t.Errorf("answered after %v, want 5ms", took)
		}
	})
}

// The in-memory client is switched over too, also when it was used before.
func TestInMemoryClient(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	c, err := vim25.NewClient(t.Context(), v.model.Service)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, v.vms()[0]))
	w.next()
	// Only ours knows CheckForUpdates.
	if _, err := methods.CheckForUpdates(t.Context(), c, &types.CheckForUpdates{This: w.pc.Reference(), Version: w.version}); err != nil {
		t.Error(err)
	}
	// It is one session for all vCenters of the process, also for those without ours.
	stock := newVCenter(t, false, property.Options{}, nil)
	other, err := vim25.NewClient(t.Context(), stock.model.Service)
	if err != nil {
		t.Fatal(err)
	}
	o := newWatch(t, own(t, other), spec("VirtualMachine", []string{"name"}, stock.vms()[0]))
	if got := lines(o.next()); len(got) != 2 {
		t.Errorf("vCenter without ours: got %q", got)
	}
	if err := o.pc.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.pc.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
}

// Every session that waits on the default collector sees every change.
func TestDefaultCollectorOfManySessions(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Machine = 5 })
	vms := v.vms()
	var ready, done sync.WaitGroup
	for range 6 {
		w := newWatch(t, pc.DefaultCollector(v.login(t)), spec("VirtualMachine", []string{"name"}, vms...))
		ready.Add(1)
		done.Go(func() {
			deadline := time.Now().Add(patienceLimit)
			first := true
			for time.Now().Before(deadline) {
				if _, err := w.ask(5); err != nil {
					t.Error(err)
				}
				if first {
					first = false
					ready.Done()
				}
				if names(w.world)[asXML(t, "last")] == len(vms) {
					return
				}
			}
			t.Errorf("a session saw %v", names(w.world))
		})
	}
	ready.Wait()
	for _, vm := range vms {
		v.set(vm, change("name", "first"))
		v.set(vm, change("name", "last"))
	}
	done.Wait()
}
