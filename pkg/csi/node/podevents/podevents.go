// Package podevents writes what the node service refuses, or waits for in vain, into Kubernetes Events of the pods that need the
// volume. A kubelet's own Event has what a call returned, which may be no more than its time limit.
package podevents

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
)

// Config configures a [Reporter]. Client and Node are mandatory.
type Config struct {
	// Client has the rights of a kubelet: it lists the node's pods, reads their claims and volumes, and creates Events.
	Client kubernetes.Interface
	// Node is the name of the Node.
	Node string
	// Driver is the name of the CSI driver; names.Driver when empty.
	Driver string
	// Logger receives what could not be reported; discarded when nil.
	Logger *slog.Logger
}

// pending is the number of failures that wait for their report; of more, the newest are dropped, and the kubelet's retries bring
// them again.
const pending = 64

// Reporter writes Events. Create it with [New] and run it with [Reporter.Run]; Failed is safe for concurrent use.
type Reporter struct {
	cfg      Config
	failures chan node.Failure

	mu      sync.Mutex
	handles map[string]string // volume ids by PersistentVolume; a PersistentVolume never gets another one
}

// New returns a Reporter that is not running.
func New(cfg Config) *Reporter {
	if cfg.Driver == "" {
		cfg.Driver = names.Driver
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Reporter{cfg: cfg, failures: make(chan node.Failure, pending), handles: map[string]string{}}
}

// Failed queues a failure. It does not block.
func (r *Reporter) Failed(f node.Failure) {
	select {
	case r.failures <- f:
	default:
	}
}

// Run writes Events until ctx ends, and returns nil.
func (r *Reporter) Run(ctx context.Context) error {
	b := record.NewBroadcaster(record.WithContext(ctx))
	defer b.Shutdown()
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: r.cfg.Client.CoreV1().Events("")})
	events := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: r.cfg.Driver, Host: r.cfg.Node})
	for {
		select {
		case f := <-r.failures:
			if err := r.report(ctx, events, f); err != nil && ctx.Err() == nil {
				r.cfg.Logger.Warn("cannot report a failure in an Event", "volume", f.Volume, "failure", f.Message, "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// reason returns the reason of an Event, as kubelets spell it (k8s.io/kubernetes pkg/kubelet/events/event.go).
func reason(f node.Failure) string {
	switch {
	case f.Call == "expand":
		return "FileSystemResizeFailed"
	case f.Block:
		return "FailedMapVolume"
	}
	return "FailedMount"
}

func (r *Reporter) report(ctx context.Context, events record.EventRecorder, f node.Failure) error {
	pods, err := r.cfg.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", r.cfg.Node).String(),
	})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName != r.cfg.Node || p.DeletionTimestamp != nil {
			continue // not every server implements the field selector
		}
		uses, err := r.uses(ctx, p, f)
		if err != nil {
			return err
		}
		if uses {
			events.Event(p, corev1.EventTypeWarning, reason(f), f.Message)
		}
	}
	return nil
}

// uses reports whether the failure is about a volume of the pod. The path of a publication has the pod's UID.
func (r *Reporter) uses(ctx context.Context, p *corev1.Pod, f node.Failure) (bool, error) {
	if strings.Contains(f.Path, "/pods/"+string(p.UID)+"/") || f.Block && strings.HasSuffix(f.Path, "/"+string(p.UID)) {
		return true, nil
	}
	if f.Call == "publish" {
		return false, nil
	}
	for _, v := range p.Spec.Volumes {
		claim := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			claim = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			claim = p.Name + "-" + v.Name
		default:
			continue
		}
		c, err := r.cfg.Client.CoreV1().PersistentVolumeClaims(p.Namespace).Get(ctx, claim, metav1.GetOptions{})
		if err != nil || c.Spec.VolumeName == "" {
			continue // it is gone
		}
		id, err := r.handle(ctx, c.Spec.VolumeName)
		if err != nil {
			return false, err
		}
		if id == f.Volume {
			return true, nil
		}
	}
	return false, nil
}

// handle returns the volume id of a PersistentVolume; "" for one of another driver.
func (r *Reporter) handle(ctx context.Context, pv string) (string, error) {
	r.mu.Lock()
	id, ok := r.handles[pv]
	r.mu.Unlock()
	if ok {
		return id, nil
	}
	v, err := r.cfg.Client.CoreV1().PersistentVolumes().Get(ctx, pv, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("persistent volume %s: %w", pv, err)
	}
	if v.Spec.CSI != nil && v.Spec.CSI.Driver == r.cfg.Driver {
		id = v.Spec.CSI.VolumeHandle
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handles[pv] = id
	return id, nil
}
