package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/artifacts"
)

// Sandbox fetches the state of the nth sandbox of the run, with its events after a Seq. A failure does not stop it from fetching
// the rest. The directory must mask the sandbox's secrets already.
func Sandbox(ctx context.Context, d *artifacts.Dir, n int, c *api.Client, after uint64) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	var errs []error
	errs = append(errs,
		d.JSON(name("inventory", n, "status", "json"), status),
		inventory(ctx, d, n, c),
		logs(d, n, status),
		c.Events(ctx, after, false, func(e event.Event, lost uint64) error { return d.Event(n, api.EventLine{Event: e, Lost: lost}) }),
		objects(ctx, d, n, status),
		recording(ctx, d, n, c),
	)
	return errors.Join(errs...)
}

// name returns the name of a file of the nth sandbox.
func name(folder string, n int, what, ext string) string {
	return fmt.Sprintf("artifacts/%s/%d-%s.%s", folder, n, artifacts.FileName(what), ext)
}

func inventory(ctx context.Context, d *artifacts.Dir, n int, c *api.Client) error {
	save := func(what string, v any, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return d.JSON(name("inventory", n, what, "json"), v)
	}
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	vcenters, err := c.VCenters(ctx)
	keep(save("vcenters", vcenters, err))
	datacenters, err := c.Datacenters(ctx)
	keep(save("datacenters", datacenters, err))
	hosts, err := c.Hosts(ctx)
	keep(save("hosts", hosts, err))
	vms, err := c.VMs(ctx)
	keep(save("vms", vms, err))
	zones, err := c.Zones(ctx)
	keep(save("zones", zones, err))
	nodes, err := c.Nodes(ctx)
	keep(save("nodes", nodes, err))
	calls, err := c.Calls(ctx)
	keep(save("calls", calls, err))
	return errors.Join(errs...)
}

// logs copies the other logs in the folders of the components' and the sandbox's logs.
func logs(d *artifacts.Dir, n int, status api.Status) error {
	folders := []string{filepath.Join(status.Dir, "logs")}
	for _, c := range status.Components {
		if c.Log != "" && !slices.Contains(folders, filepath.Dir(c.Log)) {
			folders = append(folders, filepath.Dir(c.Log))
		}
	}
	var errs []error
	for _, folder := range folders {
		errs = append(errs, Logs(d, n, folder))
	}
	return errors.Join(errs...)
}

// Logs copies the logs in a folder, as those of the nth sandbox: for one that does not answer.
func Logs(d *artifacts.Dir, n int, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	errs := []error{err}
	for _, path := range files {
		errs = append(errs, copyLog(d, name("logs", n, strings.TrimSuffix(filepath.Base(path), ".log"), "log"), path))
	}
	return errors.Join(errs...)
}

func copyLog(d *artifacts.Dir, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was replaced just now
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	return d.Copy(name, f)
}

// recording copies the sandbox's recording so far.
func recording(ctx context.Context, d *artifacts.Dir, n int, c *api.Client) error {
	lines, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		enc := json.NewEncoder(w)
		err := c.Record(ctx, false, func(h api.Recording) error { return enc.Encode(h) }, func(r api.Recorded) error { return enc.Encode(r) })
		_ = w.CloseWithError(err) // never fails
	}()
	err := d.Copy(name("recordings", n, "recording", "jsonl"), lines)
	_ = lines.Close() // never fails; ends the other end too
	<-done
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// apiTime is the time limit for one list: the API server may be broken on purpose.
const apiTime = 10 * time.Second

// objects fetches the objects that describe nodes and volumes. It never requests Secrets.
func objects(ctx context.Context, d *artifacts.Dir, n int, status api.Status) error {
	if status.Kubeconfig == "" {
		return nil // vCenters only
	}
	config, err := clientcmd.BuildConfigFromFlags("", status.Kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = apiTime
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return errors.Join(
		fetch(ctx, d, n, "nodes", c.CoreV1().Nodes().List),
		fetch(ctx, d, n, "pods", c.CoreV1().Pods("").List),
		fetch(ctx, d, n, "events", c.CoreV1().Events("").List),
		fetch(ctx, d, n, "configmaps", c.CoreV1().ConfigMaps("").List),
		fetch(ctx, d, n, "leases", c.CoordinationV1().Leases("").List),
		fetch(ctx, d, n, "persistentvolumes", c.CoreV1().PersistentVolumes().List),
		fetch(ctx, d, n, "persistentvolumeclaims", c.CoreV1().PersistentVolumeClaims("").List),
		fetch(ctx, d, n, "volumeattachments", c.StorageV1().VolumeAttachments().List),
		fetch(ctx, d, n, "csinodes", c.StorageV1().CSINodes().List),
	)
}

// fetch writes a list as kubectl get -o yaml does, without managed fields; an empty list writes nothing.
func fetch[L runtime.Object](ctx context.Context, d *artifacts.Dir, n int, what string, list func(context.Context, metav1.ListOptions) (L, error)) error {
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	all, err := list(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if meta.LenList(all) == 0 {
		return nil
	}
	err = meta.EachListItem(all, func(o runtime.Object) error {
		m, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		m.SetManagedFields(nil)
		return identify(o)
	})
	if err != nil {
		return err
	}
	if err := identify(all); err != nil {
		return err
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	return d.Write(name("objects", n, what, "yaml"), text)
}

// identify adds apiVersion and kind to an object; clients omit them.
func identify(o runtime.Object) error {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	return nil
}
