package provider

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// notifier writes Events about the connections and the configuration. Before run it queues them.
type notifier struct {
	pod Pod

	mu          sync.Mutex
	recorder    record.EventRecorder
	waiting     []func()
	subscribers []func(record.EventRecorder) // called with each new recorder, as attach is
	last        map[string]string            // last reason by key

	rotations map[string]int // reported credential rotations, by tenant
}

func newNotifier(pod Pod) *notifier {
	return &notifier{pod: pod, last: map[string]string{}, rotations: map[string]int{}}
}

// run delivers events until ctx ends.
func (n *notifier) run(ctx context.Context, client kubernetes.Interface) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(correlatorOptions()))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	n.attach(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: UserAgent}))
	<-ctx.Done()
	n.attach(nil)
}

// correlatorOptions configures what client-go may hold back. The default allows 25 events per object and then one every 5
// minutes. Here every event is a change, and one Secret may carry all events about vCenters and the configuration, so a
// vCenter that comes and goes would hide the others. So each reason has a separate limit of one per second. Different
// messages are not aggregated to "(combined from similar events)", because they may be about different vCenters.
func correlatorOptions() record.CorrelatorOptions {
	return record.CorrelatorOptions{
		BurstSize: 100,
		QPS:       1,
		MaxEvents: 1000,
		SpamKeyFunc: func(e *corev1.Event) string {
			o := e.InvolvedObject
			return strings.Join([]string{o.Kind, o.Namespace, o.Name, string(o.UID), e.Type, e.Reason}, "/")
		},
	}
}

// attach sets the recorder and sends the queued events.
func (n *notifier) attach(r record.EventRecorder) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recorder = r
	for _, notify := range n.subscribers {
		notify(r)
	}
	if r == nil {
		return
	}
	for _, notify := range n.waiting {
		notify()
	}
	n.waiting = nil
}

// do calls tell, which may use the recorder, now or as soon as a recorder is set.
func (n *notifier) do(notify func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recorder == nil {
		n.waiting = append(n.waiting, notify)
		return
	}
	notify()
}

// ownPod refers to the Pod that the provider runs in; nil if unknown.
func (n *notifier) ownPod() *corev1.ObjectReference {
	if n.pod.Name == "" || n.pod.Namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: n.pod.Namespace, Name: n.pod.Name, UID: types.UID(n.pod.UID),
	}
}

// secretObject refers to the Secret with a vCenter's credentials; nil if they are not in a Secret.
func secretObject(vc config.VCenter) *corev1.ObjectReference {
	ref := originOf(vc).secret
	if ref == (config.SecretRef{}) {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name}
}

// The reasons of the Events about a changed configuration.
const (
	// ReasonConfigReloaded: a change is in force.
	ReasonConfigReloaded = "ConfigReloaded"
	// ReasonConfigRejected: the changed configuration is invalid. The last good one stays in force.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonConfigNeedsRestart: a part of a change takes effect at the next start.
	ReasonConfigNeedsRestart = "ConfigNeedsRestart"
	// ReasonConfigDelayed: a vCenter that is in sync would not be with the change, which waits for it.
	ReasonConfigDelayed = "ConfigDelayed"
)

// config reports the outcome of a change on the Pod, else on every Secret with credentials, else not at all.
func (n *notifier) config(cfg *config.Config, kind, reason, message string) {
	message = nodeevent.Note(message)
	n.do(func() {
		objects := map[corev1.ObjectReference]bool{}
		if pod := n.ownPod(); pod != nil {
			objects[*pod] = true
		} else {
			for _, vc := range cfg.VCenters {
				if secret := secretObject(vc); secret != nil {
					objects[*secret] = true
				}
			}
		}
		for object := range objects {
			n.recorder.Event(&object, kind, reason, message)
		}
	})
}

// The reasons of the Events about a vCenter's connection.
const (
	ReasonConnected   = "VCenterConnected"
	ReasonLoginFailed = "VCenterLoginFailed"
	ReasonUnreachable = "VCenterUnreachable"
	// ReasonCredentialsMissing: the credentials have disappeared. The session made with them stays in use.
	ReasonCredentialsMissing = "VCenterCredentialsMissing"
	ReasonCredentialsFound   = "VCenterCredentialsFound"
	// ReasonCredentialsRotated: the client logged in with changed credentials.
	ReasonCredentialsRotated = "VCenterCredentialsRotated"
)

// state takes the outcome of every attempt to connect, and writes an Event when the reason changes: on the Secret with the
// credentials, or on the Pod if they are not in a Secret. Without either, it is only logged.
func (n *notifier) state(vc config.VCenter, s vcenter.State) {
	n.do(func() {
		kind, reason, message := describe(vc, s)
		n.about(vc, vc.Tenant, kind, reason, message)
		if s.Rotations > n.rotations[vc.Tenant] {
			n.send(vc, corev1.EventTypeNormal, ReasonCredentialsRotated, subject(vc)+"logged in with new credentials")
		}
		n.rotations[vc.Tenant] = s.Rotations
	})
}

// credentials is called when a vCenter's credentials have changed; err is why they cannot be used. For a vCenter that is
// not connected, its client reports that.
func (n *notifier) credentials(vc config.VCenter, connected bool, err error) {
	n.do(func() {
		key := "credentials of " + vc.Tenant
		switch {
		case err != nil && connected:
			n.about(vc, key, corev1.EventTypeWarning, ReasonCredentialsMissing, subject(vc)+err.Error()+"; the session made with the previous credentials stays in use")
		case err == nil && n.last[key] == ReasonCredentialsMissing:
			n.about(vc, key, corev1.EventTypeNormal, ReasonCredentialsFound, subject(vc)+"credentials are available again")
		}
	})
}

// about writes an Event about a vCenter unless the last Event with this key has the same reason.
func (n *notifier) about(vc config.VCenter, key, kind, reason, message string) {
	if n.last[key] != reason && n.send(vc, kind, reason, message) {
		n.last[key] = reason
	}
}

// send writes an Event on the Secret with a vCenter's credentials, or on the Pod if they are not in a Secret. It returns
// false if neither exists.
func (n *notifier) send(vc config.VCenter, kind, reason, message string) bool {
	object := secretObject(vc)
	if object == nil {
		object = n.ownPod()
	}
	if object == nil {
		return false
	}
	n.recorder.Event(object, kind, reason, nodeevent.Note(message))
	return true
}

func subject(vc config.VCenter) string { return "vCenter " + vc.Tenant + " (" + vc.Server + "): " }

// describe returns the Event for a state. Errors of package vcenter contain the user, never the password.
func describe(vc config.VCenter, s vcenter.State) (kind, reason, message string) {
	switch {
	case s.Err == nil:
		return corev1.EventTypeNormal, ReasonConnected, subject(vc) + "connected"
	case errors.Is(s.Err, vcenter.ErrInvalidLogin), errors.Is(s.Err, vcenter.ErrNoCredentials):
		stays := ""
		if s.Connected {
			stays = "the session made with the previous credentials stays in use"
		}
		return corev1.EventTypeWarning, ReasonLoginFailed, subject(vc) + sentence(nodeevent.Text(s.Err.Error()), stays, remedy(s.Err))
	}
	return corev1.EventTypeWarning, ReasonUnreachable, subject(vc) + sentence(nodeevent.Text(s.Err.Error()), remedy(s.Err))
}

// remedy returns what to do about a vCenter that cannot be used, or "" if that is not known.
func remedy(err error) string {
	var (
		urlErr *url.Error
		netErr net.Error
	)
	switch {
	case errors.Is(err, vcenter.ErrNoCredentials):
		return "put user and password in the Secret, directory or file that the configuration names"
	case errors.Is(err, vcenter.ErrInvalidLogin):
		return "correct user and password, or unlock the account"
	case errors.Is(err, vcenter.ErrCertificate):
		return "configure the certificate's authority, or its thumbprint"
	case errors.As(err, &urlErr), errors.As(err, &netErr):
		return "check that the vcenter is up and reachable from here"
	}
	return ""
}

// sentence joins the parts that are not empty.
func sentence(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSuffix(p, "."); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "; ")
}
