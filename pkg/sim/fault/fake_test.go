package fault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// lamps are a world of VMs that shine or do not.
type lamps struct {
	mu    sync.Mutex
	names []string
	dark  map[string]bool
	stuck map[string]error // what is done to the lamp fails
	calls []string
	busy  int // steps under way, and the most there were
	most  int
	slow  time.Duration // how long a step takes
}

func newLamps(names ...string) *lamps {
	return &lamps{names: names, dark: map[string]bool{}, stuck: map[string]error{}}
}

func (l *lamps) items(_ context.Context, kind fault.Object) ([]fault.Item, error) {
	if kind != fault.VM && kind != fault.Node {
		return nil, errors.New("there are VMs and nodes only")
	}
	var items []fault.Item
	for i, name := range l.names {
		zone := string(rune('a' + i%2))
		item := fault.Item{Kind: fault.VM, VCenter: "vc", Name: name, Path: "/dc/vm/" + name, Datacenter: "dc", Zone: zone, Node: name + ".example"}
		if kind == fault.Node {
			item.Kind, item.Name, item.Path = kind, item.Node, ""
		}
		items = append(items, item)
	}
	return items, nil
}

// do is a step on a lamp.
func (l *lamps) do(ctx context.Context, c *fault.Call, what string, dark bool) error {
	l.mu.Lock()
	l.calls = append(l.calls, what+" "+c.Target.Name)
	l.busy++
	l.most = max(l.most, l.busy)
	slow := l.slow
	l.mu.Unlock()
	defer func() { l.mu.Lock(); l.busy--; l.mu.Unlock() }()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.stuck[what+" "+c.Target.Name]; err != nil {
		return err
	}
	l.dark[c.Target.Name] = dark
	return nil
}

func (l *lamps) fail(call string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck[call] = err
}

func (l *lamps) shining() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var on []string
	for _, n := range l.names {
		if !l.dark[n] {
			on = append(on, n)
		}
	}
	return strings.Join(on, " ")
}

// was is what a lamp remembers.
type was struct {
	Dark  bool
	Count int
}

// kinds are what can happen to lamps.
func (l *lamps) kinds() []*fault.Kind {
	plan := func(_ context.Context, c *fault.Call) (was, string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dark[c.Target.Name] {
			return was{}, "", fault.Refuse("is dark already")
		}
		return was{}, "put out (shines)", nil
	}
	out := fault.Steps[was]{
		Plan: plan,
		Apply: func(ctx context.Context, c *fault.Call, s *was) error {
			s.Count++
			return l.do(ctx, c, "out", true)
		},
		Revert: func(ctx context.Context, c *fault.Call, s *was) error { return l.do(ctx, c, "light", s.Dark) },
	}
	blink := out
	blink.Run = func(ctx context.Context, c *fault.Call, s *was) error {
		for {
			select {
			case <-time.After(time.Second):
				s.Count++
				c.Note("lamp.blinked", event.Info, "blink %d", s.Count)
				if s.Count == 5 {
					return errors.New("burnt out")
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	socket := func(i fault.Item) string { return i.Node }
	return []*fault.Kind{
		fault.New(fault.Kind{Name: "lamp.painted", Object: fault.VM, Aspect: "color"}, out),
		fault.New(fault.Kind{Name: "lamp.stolen", Object: fault.VM, Aspect: "place", ReplacesTarget: true}, out),
		fault.New(fault.Kind{Name: "lamp.unplugged", Object: fault.Node, Aspect: "light", Component: socket}, out),
		fault.New(fault.Kind{
			Name: "lamp.out", Component: socket, Object: fault.VM, Aspect: "light", Params: []fault.Param{
				{Name: "delay", Type: fault.Duration, Default: "1s"}, {Name: "color", Type: fault.Text, Choices: []string{"red", "green"}},
			},
		}, out),
		fault.New(fault.Kind{Name: "lamp.blink", Object: fault.VM, Aspect: "light"}, blink),
		fault.New(fault.Kind{Name: "lamp.cold", Object: fault.VM}, out),
		fault.New(fault.Kind{Name: "lamp.flash", Object: fault.VM, Aspect: "light", Momentary: true}, fault.Steps[was]{Plan: plan, Apply: out.Apply}),
		fault.New(fault.Kind{Name: "lamp.cluster", Object: fault.VM, Needs: []fault.Need{fault.Clustered}}, out),
	}
}

// lab is an engine with lamps.
type lab struct {
	*fault.Engine
	*lamps
	log     *event.Log
	journal *bytes.Buffer
	sealer  *secret.Store
	changes *changes
}

type changes struct {
	mu   sync.Mutex
	list []fault.Lease
}

func (c *changes) add(l fault.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, l)
}

func (c *changes) states(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var states []string
	for _, l := range c.list {
		if l.ID == id && (len(states) == 0 || states[len(states)-1] != string(l.State)) {
			states = append(states, string(l.State))
		}
	}
	return strings.Join(states, " ")
}

func start(t testing.TB, names ...string) *lab {
	t.Helper()
	sealer, err := secret.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sealer.Close() })
	l := &lab{lamps: newLamps(names...), log: event.NewLog(0), journal: &bytes.Buffer{}, sealer: sealer, changes: &changes{}}
	l.Engine = fault.NewEngine(fault.Options{
		Ground: &fault.Ground{Items: l.items, Events: l.log}, Kinds: l.kinds(), Journal: l.journal, Sealer: l.sealer, OnChange: l.changes.add,
	})
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lab) inject(t testing.TB, r fault.Request) fault.Lease {
	t.Helper()
	lease, err := l.Inject(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// requireEvents compares the log with lines "seq<cause kind object: message".
func (l *lab) requireEvents(t *testing.T, want ...string) {
	t.Helper()
	events, _ := l.log.Read(0, 0)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%d<%d %s %s: %s", e.Seq, e.Cause, e.Kind, e.Object.Name, e.Message))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func requireRefusal(t *testing.T, err error, code string, words ...string) {
	t.Helper()
	r := (*fault.Refusal)(nil)
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("%v, want a refusal of code %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(r.Message+" / "+r.Try, w) {
			t.Errorf("%q / %q does not say %q", r.Message, r.Try, w)
		}
	}
}

func on(names ...string) fault.Selector { return fault.Selector{Names: names} }
