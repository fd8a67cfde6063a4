package provider

import (
	"context"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The reasons of the events that say how a vCenter's connection fares.
const (
	ReasonConnected   = "VCenterConnected"
	ReasonLoginFailed = "VCenterLoginFailed"
	ReasonUnreachable = "VCenterUnreachable"
)

// notifier turns the states of connections into events about the Secret with the credentials, once per change of
// reason. A vCenter whose credentials are in the file has no object to attach them to: those are in the log alone.
type notifier struct {
	mu       sync.Mutex
	recorder record.EventRecorder
	last     map[string]string        // tenant → reason last told
	pending  map[string]vcenter.State // tenant → state from before there was a recorder
	configs  map[string]config.VCenter
}

func newNotifier() *notifier {
	return &notifier{
		last:    map[string]string{},
		pending: map[string]vcenter.State{},
		configs: map[string]config.VCenter{},
	}
}

// run delivers events until ctx ends.
func (n *notifier) run(ctx context.Context, client kubernetes.Interface) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	n.attach(broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: UserAgent}))
	<-ctx.Done()
	n.attach(nil)
}

// attach sets where events go, and sends what has been waiting.
func (n *notifier) attach(r record.EventRecorder) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recorder = r
	if r == nil {
		return
	}
	for tenant, s := range n.pending {
		n.tell(n.configs[tenant], s)
	}
	clear(n.pending)
}

// state is told every outcome of an attempt to connect.
func (n *notifier) state(vc config.VCenter, s vcenter.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recorder == nil {
		n.configs[vc.Tenant], n.pending[vc.Tenant] = vc, s
		return
	}
	n.tell(vc, s)
}

func (n *notifier) tell(vc config.VCenter, s vcenter.State) {
	if vc.Secret == (config.SecretRef{}) {
		return
	}
	kind, reason, message := describe(vc, s)
	if n.last[vc.Tenant] == reason {
		return
	}
	n.last[vc.Tenant] = reason
	n.recorder.Event(&v1.ObjectReference{
		APIVersion: "v1",
		Kind:       "Secret",
		Namespace:  vc.Secret.Namespace,
		Name:       vc.Secret.Name,
	}, kind, reason, message)
}

// describe words an event. Errors of package vcenter name the user, never the password.
func describe(vc config.VCenter, s vcenter.State) (kind, reason, message string) {
	subject := "vCenter " + vc.Tenant + " (" + vc.Server + "): "
	switch {
	case s.Err == nil:
		return v1.EventTypeNormal, ReasonConnected, subject + "connected"
	case errors.Is(s.Err, vcenter.ErrInvalidLogin), errors.Is(s.Err, vcenter.ErrNoCredentials):
		message = subject + s.Err.Error()
		if s.Connected {
			message += "; the session made with the credentials before stays in use"
		}
		return v1.EventTypeWarning, ReasonLoginFailed, message
	}
	return v1.EventTypeWarning, ReasonUnreachable, subject + s.Err.Error()
}
