package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// fake is a sandbox that sends the story up to a time, and records requests.
type fake struct {
	upTo time.Duration
	more chan api.Update // sent after the story

	mu    sync.Mutex
	did   []string
	fails error // what everything that is done ends with
	cuts  []error
	held  chan struct{} // if not nil, it blocks updates after a cut until it is closed
}

func (f *fake) note(what string, r any) {
	b, _ := json.Marshal(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, strings.TrimSpace(what+" "+string(b)))
}

// done is what it was asked to do.
func (f *fake) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.did...)
}

func (f *fake) Status(context.Context) (api.Status, error) {
	return api.Status{Name: "default", Topology: "zones-us-eu", Speed: 10}, nil
}

func (f *fake) Watch(ctx context.Context, _ uint64, send func(api.Update) error) error {
	f.mu.Lock()
	if len(f.cuts) > 0 {
		err := f.cuts[0]
		f.cuts = f.cuts[1:]
		f.mu.Unlock()
		return err
	}
	f.mu.Unlock()
	if f.held != nil {
		<-f.held
	}
	story := tuitest.Story()
	for _, r := range story {
		if r.Time.Sub(story[0].Time) > f.upTo {
			break
		}
		if err := send(r.Update); err != nil {
			return err
		}
	}
	for {
		select {
		case u, ok := <-f.more:
			if !ok {
				return nil
			}
			if err := send(u); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) FaultKinds(context.Context) ([]api.FaultKind, error) {
	return []api.FaultKind{{Name: "vm.power-off", Theme: "vm", Short: "powers VMs off", Object: "vm"}}, nil
}

func (f *fake) Snapshots(context.Context) ([]api.Snapshot, error) {
	return []api.Snapshot{
		{Name: "before-upgrade", SavedAt: tuitest.Story()[0].Time, VMs: 6, Nodes: 6, Volumes: 2},
		{Name: "damaged", Problem: "objects.jsonl is missing"},
	}, nil
}

func (f *fake) Explain(_ context.Context, s api.Subject) (api.Explanation, error) {
	return api.Explanation{Subject: s, Summary: "it is as it is"}, f.fails
}

func (f *fake) Inspect(_ context.Context, s api.Subject) (api.Inspection, error) {
	return api.Inspection{Parts: []api.Part{{Title: s.Kind + " " + s.Name, YAML: "spec: {}\n"}}}, f.fails
}

func (f *fake) LastExchange(_ context.Context, vcenter, client, method string) (api.Exchange, error) {
	return api.Exchange{Number: 7, Text: "#7 of " + vcenter + "\n  → " + method + "\n      by: " + client + "\n  ← 200\n"}, f.fails
}

func (f *fake) VM(_ context.Context, r api.VMRequest) (api.Done, error) {
	f.note("vm", r)
	return api.Done{Message: "done"}, f.fails
}

func (f *fake) Gate(_ context.Context, r api.GateRequest) (api.Done, error) {
	f.note("gate", r)
	return api.Done{Message: "done"}, f.fails
}

func (f *fake) Volume(_ context.Context, r api.VolumeRequest) (api.Done, error) {
	f.note("volume", r)
	return api.Done{Message: "done"}, f.fails
}

func (f *fake) OutOfService(_ context.Context, r api.OutOfServiceRequest) (api.Done, error) {
	f.note("out-of-service", r)
	return api.Done{Message: "done"}, f.fails
}

func (f *fake) Inject(_ context.Context, r api.InjectRequest) (api.Lease, error) {
	f.note("inject", r)
	return api.Lease{ID: "f9", Fault: r.Fault}, f.fails
}

func (f *fake) Heal(_ context.Context, r api.HealRequest) ([]api.Lease, error) {
	f.note("heal", r)
	return nil, f.fails
}

func (f *fake) SaveSnapshot(_ context.Context, r api.SaveRequest) (api.Snapshot, error) {
	return api.Snapshot{Name: r.Name}, nil
}

func (f *fake) RestoreSnapshot(_ context.Context, r api.RestoreRequest) (api.Snapshot, error) {
	return api.Snapshot{Name: r.Name}, nil
}

func (f *fake) RestartCCM(context.Context) (api.Done, error) {
	f.note("restart", nil)
	return api.Done{Message: "done"}, f.fails
}

// recording is the story as a recording.
func recording(t testing.TB) *replay.Player {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	story := tuitest.Story()
	head := api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: "default", Topology: "zones-us-eu", Speed: 10,
		StartedAt: story[0].Time, Began: story[0].Time,
	}
	if err := enc.Encode(head); err != nil {
		t.Fatal(err)
	}
	for _, r := range story {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	p, err := replay.Read("story", &b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// driver drives a model without a terminal: it runs the commands that updates return, until there is nothing to wait for.
type driver struct {
	*Model
	t       *testing.T
	waiting []chan tea.Msg // commands that have not ended
}

// until waits for commands until the model is as it has to be.
func (d *driver) until(holds func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			d.t.Fatalf("waited in vain; the screen is\n%s", ansi.Strip(d.Frame()))
		}
		for i := 0; i < len(d.waiting); i++ {
			select {
			case msg := <-d.waiting[i]:
				d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
				d.deliver(msg)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// drive attaches a model of 100×30 to a sandbox that sent the story up to a time.
func drive(t *testing.T, f *fake, change func(*Options)) *driver {
	t.Helper()
	now := tuitest.Story()[0].Time.Add(f.upTo)
	o := Options{Sandbox: f, Theme: "mono", Now: func() time.Time { return now }}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	cut := len(f.cuts) > 0
	d := &driver{Model: NewModel(ctx, o), t: t}
	d.Model.resize(100, 30)
	d.run(d.Model.attach())
	d.run(d.Model.askKinds())
	if !cut {
		d.until(func() bool { return d.state.World().Synced() && len(d.kinds) > 0 })
	}
	return d
}

// run runs a command and its results. It reads the whole story from the stream; the clock stands still.
func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	got := make(chan tea.Msg, 1)
	go func() { got <- cmd() }()
	var msg tea.Msg
	select {
	case msg = <-got:
	case <-time.After(100 * time.Millisecond): // it waits for an update that does not come
		d.waiting = append(d.waiting, got)
		return
	}
	d.deliver(msg)
}

// deliver gives the model a message, and runs what comes of it.
func (d *driver) deliver(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	default:
		_, next := d.Update(msg)
		d.run(next)
	}
}

// press presses keys, by their names.
func (d *driver) press(names ...string) {
	d.t.Helper()
	for _, name := range names {
		k, err := keyOf(name)
		if err != nil {
			d.t.Fatal(err)
		}
		_, cmd := d.Update(k)
		d.run(cmd)
	}
}

// typed types a text.
func (d *driver) typedText(text string) {
	d.t.Helper()
	for _, r := range text {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.press(string(r))
	}
}

// shows waits for the frame to have a text.
func (d *driver) shows(text string) {
	d.t.Helper()
	d.until(func() bool { return strings.Contains(ansi.Strip(d.Frame()), text) })
}

// hides waits for the frame to have it no more.
func (d *driver) hides(text string) {
	d.t.Helper()
	d.until(func() bool { return !strings.Contains(ansi.Strip(d.Frame()), text) })
}

var errFake = errors.New("no way")
