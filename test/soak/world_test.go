package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// world is what all workers of a round have in common.
type world struct {
	t    *testing.T
	lab  *sim.Lab
	m    *meter
	done func() bool
	work sync.WaitGroup
}

func newWorld(t *testing.T, lab *sim.Lab, m *meter) *world { return &world{t: t, lab: lab, m: m} }

// worker is one session, which is opened again if another worker ended it.
type worker struct {
	*world
	name   string
	random *rand.Rand
	client *vim25.Client
	login  *session.Manager

	vms   []*object.VirtualMachine
	hosts []types.ManagedObjectReference // of the cluster
}

// start runs a role again and again until the round is over. A role returns when its session was ended.
func (w *world) start(ctx context.Context, name string, role func(context.Context, *worker) error) {
	w.work.Go(func() {
		k := &worker{world: w, name: name, random: rand.New(rand.NewPCG(uint64(len(name)), uint64(name[len(name)-1])))}
		for !w.done() && ctx.Err() == nil {
			err := k.open(ctx)
			if err == nil {
				err = role(ctx, k)
			}
			w.m.fault(name, err)
			k.close(ctx)
		}
	})
}

func (w *world) wait() { w.work.Wait() }

// open logs in and looks around.
func (k *worker) open(ctx context.Context) error {
	v, _ := k.lab.VCenter("vc")
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(k.lab.CAFile); err != nil {
		return err
	}
	c, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return err
	}
	c.RoundTripper = roundTripper{k.m, c.RoundTripper}
	k.client, k.login = c, session.NewManager(c)
	c.UserAgent = "soak/" + k.name
	if err := k.login.Login(ctx, url.UserPassword(v.User(), v.Password())); err != nil {
		return err
	}
	finder := find.NewFinder(c)
	if k.vms, err = finder.VirtualMachineList(ctx, "/dc/vm/vm-*"); err != nil {
		return err
	}
	hosts, err := finder.HostSystemList(ctx, "/dc/host/c/*")
	if err != nil {
		return err
	}
	k.hosts = nil
	for _, h := range hosts {
		k.hosts = append(k.hosts, h.Reference())
	}
	return nil
}

func (k *worker) close(ctx context.Context) {
	if k.client == nil {
		return
	}
	_ = k.login.Logout(ctx) // it may be over already
	k.client.CloseIdleConnections()
	k.client = nil
}

func (k *worker) vm() *object.VirtualMachine { return k.vms[k.random.IntN(len(k.vms))] }

// task times an operation from its call to the end of its task, and returns whether to continue: false when the session
// is over.
func (k *worker) task(ctx context.Context, name string, start func(context.Context) (*object.Task, error)) error {
	end := k.m.begin("op."+name, 0)
	defer end()
	t, err := start(ctx)
	if err == nil {
		err = t.Wait(ctx)
	}
	return k.over(name, err)
}

// over counts an error, and returns those after which the session is of no use.
func (k *worker) over(where string, err error) error {
	if err == nil {
		return nil
	}
	name, expected := faultName(err)
	if !expected || name == "NotAuthenticated" || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", where, err)
	}
	k.m.fault(where, err)
	return nil
}

// watchdog fails the test, with all goroutines, when something hangs.
func watchdog(t *testing.T, m *meter) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if stuck := m.stuck(30 * time.Second); len(stuck) > 0 {
				panic(fmt.Sprintf("it hangs: %s\n%s", strings.Join(stuck, ", "), goroutines()))
			}
		}
	}()
	return func() { close(end); <-ended }
}

func goroutines() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.String()
}

// quiesce waits until the goroutines of the round are gone, and returns the heap that is left.
func quiesce(t *testing.T, base int) uint64 {
	t.Helper()
	const slack = 5 // timers, connections that are being closed
	end := time.Now().Add(30 * time.Second)
	for runtime.NumGoroutine() > base+slack {
		if time.Now().After(end) {
			t.Errorf("%d goroutines are left, %d before:\n%s", runtime.NumGoroutine(), base, goroutines())
			break
		}
		time.Sleep(20 * time.Millisecond) // the end of a goroutine must be polled
	}
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// checkGrowth compares the heap after the rounds. It takes some ten thousand calls to fill what is kept on purpose.
func checkGrowth(t *testing.T, heaps []uint64) {
	t.Helper()
	if *calls < many || len(heaps) < 3 {
		return
	}
	middle, last := heaps[len(heaps)/2], heaps[len(heaps)-1]
	if last > middle+middle/10+2<<20 {
		file := filepath.Join(os.TempDir(), fmt.Sprintf("soak-%d.pprof", os.Getpid())) // kept, to be read
		writeHeap(t, file)
		t.Errorf("the heap grows: %v bytes after the rounds; go tool pprof -top %s", heaps, file)
	}
}

func writeHeap(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close()); err != nil {
		t.Fatal(err)
	}
}
