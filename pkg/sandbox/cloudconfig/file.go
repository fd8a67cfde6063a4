package cloudconfig

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// copyToFile keeps the file equal to the ConfigMap. It returns when the ConfigMap has been read once.
func (c *Config) copyToFile(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	factory := Informers(c.Client(), c.Namespace, ConfigMap)
	p := projection{Config: c}
	project := func(o any) { p.project(o.(*corev1.ConfigMap).Data) }
	handler, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    project,
		UpdateFunc: func(_, o any) { project(o) },
	})
	if err != nil {
		return err
	}
	c.run(factory)
	if !cache.WaitFor(ctx, "", handler.HasSyncedChecker()) {
		return errors.Join(errors.New("the API server does not list ConfigMaps"), context.Cause(ctx))
	}
	return nil
}

// projection is the file with vsphere.conf, as a kubelet keeps it for a pod that mounts the ConfigMap: with the content of the
// key, which may be empty, and removed with the key. A deleted ConfigMap leaves the file unchanged.
type projection struct {
	*Config

	made bool    // the file has existed
	last *string // the content; nil while there is no file
}

// project brings the file up to date. Only one goroutine at a time may call it.
func (p *projection) project(data map[string]string) {
	conf, exists := data[Key]
	if !exists && p.last == nil || exists && p.last != nil && conf == *p.last {
		return
	}
	write, what := func() error { return atomicfile.WriteFile(p.File, []byte(conf), 0o600) }, "changed"
	switch {
	case !exists:
		write, what = func() error { return os.Remove(p.File) }, "is gone"
	case conf == "":
		what = "is empty"
	}
	if p.made { // the event comes before its consequences
		p.event(event.PlaneKubernetes, event.Info, "ccm.config-changed", "ConfigMap", ConfigMap, Key+" "+what)
		if p.Changed != nil {
			p.Changed()
		}
	}
	if err := write(); err != nil {
		p.event(event.PlaneSandbox, event.Warning, "ccm.config-rejected", "ConfigMap", ConfigMap, err.Error())
		return
	}
	if p.last, p.made = nil, true; exists {
		p.last = &conf
	}
}

// event logs a change of the ConfigMap or the Secret.
func (c *Config) event(plane event.Plane, level event.Level, kind, object, name, message string) {
	c.Log.Append(event.Event{
		Plane: plane, Level: level, Kind: kind,
		Object: event.Object{Kind: object, Name: name}, Message: message, Cause: c.Causes.OfChange(object, name),
	})
}
