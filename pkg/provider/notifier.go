package provider

import (
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
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
