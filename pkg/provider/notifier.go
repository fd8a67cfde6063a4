package provider

import (
	"context"
	"errors"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// notifier writes events about the connections and the configuration. What it is told before it runs waits.
type notifier struct {
	pod Pod

	mu       sync.Mutex
	recorder record.EventRecorder
	waiting  []func()
	others   []func(record.EventRecorder) // told where events go, nil for nowhere, as attach is
	last     map[string]string            // reason last told, by what it is about

	rotations map[string]int // of credentials, that have been told, by tenant
}

func newNotifier(pod Pod) *notifier {
	return &notifier{pod: pod, last: map[string]string{}, rotations: map[string]int{}}
}

// run delivers events until ctx ends.
func (n *notifier) run(ctx context.Context, client kubernetes.Interface) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(correlation()))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	n.attach(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: UserAgent}))
	<-ctx.Done()
	n.attach(nil)
}

// correlation is what client-go may hold back. Everything is told once per change here, and all that there is to say of
// vCenters and the configuration may be said of one Secret: with 25 events for it, and one each 5 minutes from then on, a
// vCenter that comes and goes would be all that is heard. So each reason counts by itself, and goes on once a second. Nor
// are messages that differ made one, "(combined from similar events)": they may be about different vCenters.
func correlation() record.CorrelatorOptions {
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

// attach sets where events go, and sends what has been waiting.
func (n *notifier) attach(r record.EventRecorder) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recorder = r
	for _, tell := range n.others {
		tell(r)
	}
	if r == nil {
		return
	}
	for _, tell := range n.waiting {
		tell()
	}
	n.waiting = nil
}

// do calls tell, which may use the recorder, now or as soon as there is one.
func (n *notifier) do(tell func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recorder == nil {
		n.waiting = append(n.waiting, tell)
		return
	}
	tell()
}

// maxNote is how many bytes an API server takes for the note of an event.
const maxNote = 1024

// note is a message cut to what an event may say.
func note(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote-3], "") + "..." // no half of a character
}

// ownPod refers to the Pod that the provider runs in, nil when it does not know of one.
func (n *notifier) ownPod() *corev1.ObjectReference {
	if n.pod.Name == "" || n.pod.Namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: n.pod.Namespace, Name: n.pod.Name, UID: types.UID(n.pod.UID),
	}
}

// secretObject refers to the Secret with a vCenter's credentials, nil when there is none.
func secretObject(vc config.VCenter) *corev1.ObjectReference {
	ref := originOf(vc).secret
	if ref == (config.SecretRef{}) {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: ref.Namespace, Name: ref.Name}
}

// The reasons of the events about a changed configuration.
const (
	// ReasonConfigReloaded: a change is in force.
	ReasonConfigReloaded = "ConfigReloaded"
	// ReasonConfigRejected: the configuration cannot be used as it is now. The last good one stays in force.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonConfigNeedsRestart: a part of a change takes effect at the next start.
	ReasonConfigNeedsRestart = "ConfigNeedsRestart"
	// ReasonConfigDelayed: a vCenter that is in sync would not be with the change, which waits until it is.
	ReasonConfigDelayed = "ConfigDelayed"
)

// config tells what became of a change: on the Pod, else on every Secret with credentials, else nowhere.
func (n *notifier) config(cfg *config.Config, kind, reason, message string) {
	message = note(message)
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

// The reasons of the events that say how a vCenter's connection fares.
const (
	ReasonConnected   = "VCenterConnected"
	ReasonLoginFailed = "VCenterLoginFailed"
	ReasonUnreachable = "VCenterUnreachable"
	// ReasonCredentialsMissing: the credentials are no longer where they were. The session made with them stays in use.
	ReasonCredentialsMissing = "VCenterCredentialsMissing"
	ReasonCredentialsFound   = "VCenterCredentialsFound"
	// ReasonCredentialsRotated: a session was made with changed credentials.
	ReasonCredentialsRotated = "VCenterCredentialsRotated"
)

// state is told every outcome of an attempt to connect. It becomes an event once per change of reason, about the Secret
// with the credentials, or about the Pod when these are elsewhere; without either it is in the log alone.
func (n *notifier) state(vc config.VCenter, s vcenter.State) {
	n.do(func() {
		kind, reason, message := describe(vc, s)
		n.about(vc, vc.Tenant, kind, reason, message)
		if s.Rotations > n.rotations[vc.Tenant] {
			n.send(vc, corev1.EventTypeNormal, ReasonCredentialsRotated, subject(vc)+"logged in with new credentials, which are in use now")
		}
		n.rotations[vc.Tenant] = s.Rotations
	})
}

// credentials is told when the place of a vCenter's credentials has changed: err is what they lack now. Of a vCenter that
// is not connected, its client tells that itself.
func (n *notifier) credentials(vc config.VCenter, connected bool, err error) {
	n.do(func() {
		key := "credentials of " + vc.Tenant
		switch {
		case err != nil && connected:
			n.about(vc, key, corev1.EventTypeWarning, ReasonCredentialsMissing, subject(vc)+err.Error()+"; the session made with the credentials before stays in use")
		case err == nil && n.last[key] == ReasonCredentialsMissing:
			n.about(vc, key, corev1.EventTypeNormal, ReasonCredentialsFound, subject(vc)+"there are credentials again")
		}
	})
}

// about tells something of a vCenter. The same reason is told once, until another of that key is.
func (n *notifier) about(vc config.VCenter, key, kind, reason, message string) {
	if n.last[key] != reason && n.send(vc, kind, reason, message) {
		n.last[key] = reason
	}
}

// send writes an event on the Secret with a vCenter's credentials, or on the Pod when these are elsewhere. It returns
// false when there is neither.
func (n *notifier) send(vc config.VCenter, kind, reason, message string) bool {
	object := secretObject(vc)
	if object == nil {
		object = n.ownPod()
	}
	if object == nil {
		return false
	}
	n.recorder.Event(object, kind, reason, note(message))
	return true
}

func subject(vc config.VCenter) string { return "vCenter " + vc.Tenant + " (" + vc.Server + "): " }

// describe words an event. Errors of package vcenter name the user, never the password.
func describe(vc config.VCenter, s vcenter.State) (kind, reason, message string) {
	switch {
	case s.Err == nil:
		return corev1.EventTypeNormal, ReasonConnected, subject(vc) + "connected"
	case errors.Is(s.Err, vcenter.ErrInvalidLogin), errors.Is(s.Err, vcenter.ErrNoCredentials):
		stays := ""
		if s.Connected {
			stays = "the session made with the credentials before stays in use"
		}
		return corev1.EventTypeWarning, ReasonLoginFailed, subject(vc) + sentence(wording(s.Err.Error()), stays, remedy(s.Err))
	}
	return corev1.EventTypeWarning, ReasonUnreachable, subject(vc) + sentence(wording(s.Err.Error()), remedy(s.Err))
}
