package ccm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// deployment records what is applied.
type deployment struct {
	calls   []string
	applied deploy.CCM
	wait    error
}

func (d *deployment) Config() (deploy.Config, error) { return deploy.Config{CA: []byte("ca")}, nil }

func (d *deployment) Image(program string) string { return "image of " + program }

func (d *deployment) CCM(_ context.Context, c deploy.CCM) error {
	d.calls, d.applied = append(d.calls, "apply"), c
	return nil
}

func (d *deployment) Wait(context.Context, func(string)) error { return d.wait }

func (d *deployment) Restart(_ context.Context, component string) error {
	d.calls = append(d.calls, "restart "+component)
	return nil
}

func (d *deployment) Scale(context.Context, int) error {
	d.calls = append(d.calls, "scale")
	return nil
}

func newPods(t *testing.T) (*Pods, *deployment) {
	t.Helper()
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	d := &deployment{}
	p := &Pods{
		Deployment: d, Args: []string{"--of-all"}, Detail: func(string) {},
		Deployed: func() error { d.calls = append(d.calls, "deployed"); return nil },
	}
	p.Log, p.Logger, p.Dir, p.Ready = event.NewLog(0), slog.New(slog.DiscardHandler), dir, func() error { return nil }
	p.Components = &components.Registry{Dir: dir, Log: p.Log, Logger: p.Logger, Cache: rows{}, Describe: p.Describe, Crashed: func(int, string) {}}
	return p, d
}

func TestPods(t *testing.T) {
	p, d := newPods(t)
	p.Options = Options{Args: []string{"--own"}, Replicas: 2}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := d.applied; a.Image != "image of "+image.CCM || a.Replicas != 2 || !slices.Equal(a.Args, []string{"--of-all", "--own"}) || string(a.CA) != "ca" {
		t.Errorf("%+v", a)
	}
	for _, component := range []string{"ccm", "ccm-2"} {
		p.Changed(deploy.Change{Component: component, State: deploy.Running, Ready: true, Started: time.Now()})
	}
	if _, err := p.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Scale(t.Context(), 3); err != nil {
		t.Error(err)
	}
	requireCode(t, "scale", p.Scale(t.Context(), 0), "invalid")
	if done, err := p.Swap(t.Context(), api.CCMRequest{Replicas: 1}); err != nil || done.Message != "builtin runs, healthy" {
		t.Errorf("%+v, %v", done, err)
	}
	if want := []string{"apply", "deployed", "restart ccm", "restart ccm-2", "scale", "apply"}; !slices.Equal(d.calls, want) {
		t.Errorf("%q, want %q", d.calls, want)
	}
	if got := strings.Join(kinds(p.Log, 0), " "); got != "ccm.restart ccm.swap" {
		t.Errorf("events %q", got)
	}
	d.wait = errors.New("ImagePullBackOff")
	_, err := p.Swap(t.Context(), api.CCMRequest{})
	requireCode(t, "pods that do not start", err, "conflict")
}

// A manifest is applied unchanged: its arguments and replicas are its own.
func TestPodsOfManifest(t *testing.T) {
	p, d := newPods(t)
	p.Options = Options{Program: programs.Program{Path: "/x"}, Manifest: []byte("kind: DaemonSet")}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := d.applied; a.Image != "" || a.Args != nil || a.Replicas != 0 || string(a.Manifest) != "kind: DaemonSet" {
		t.Errorf("%+v", a)
	}
}

// Wait follows the pods.
func TestWaitForPods(t *testing.T) {
	p, _ := newPods(t)
	p.StartTime = time.Hour
	for _, tc := range []struct {
		is   deploy.Change
		want string
	}{
		{deploy.Change{Component: "ccm", State: deploy.Running, Ready: true}, ""},
		{deploy.Change{Component: "ccm", State: deploy.Exited, Restarts: 2, ExitCode: 2}, "ccm: exit status 2"},
		{deploy.Change{Component: "ccm", State: deploy.Gone}, ""},
	} {
		p.Changed(tc.is)
		if err := p.Wait(t.Context()); tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
			t.Errorf("%+v: %v", tc.is, err)
		}
	}
	if p.Count() != 0 {
		t.Errorf("%d replicas", p.Count())
	}
	p.Changed(deploy.Change{Component: "ccm", State: deploy.Waiting})
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Wait(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("stopping: %v", err)
	}
}
