package podevents_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/podevents"
)

func pod(name, on, claim string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{NodeName: on, Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}},
	}
}

func bound(claim, handle string) []runtime.Object {
	return []runtime.Object{
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + claim},
		},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + claim}, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: handle}},
		}},
	}
}

// A failure is an Event of the pods on the node that use the volume, and of no other.
func TestEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		failure node.Failure
		want    string // REASON POD
	}{
		"stage":   {node.Failure{Call: "stage", Volume: "v1", Path: "/var/lib/kubelet/plugins/x/globalmount", Message: "no link"}, "FailedMount one"},
		"publish": {node.Failure{Call: "publish", Volume: "v2", Path: "/var/lib/kubelet/pods/uid-two/volumes/x/mount", Message: "no"}, "FailedMount two"},
		"block":   {node.Failure{Call: "stage", Volume: "v2", Path: "/staging/pv-two", Block: true, Message: "no devices"}, "FailedMapVolume two"},
		"expand":  {node.Failure{Call: "expand", Volume: "v1", Path: "/globalmount", Message: "smaller"}, "FileSystemResizeFailed one"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(bound("one", "v1"), bound("two", "v2")...)
			objects = append(objects, pod("one", "node", "one"), pod("two", "node", "two"), pod("elsewhere", "other", "one"), pod("unbound", "node", "none"))
			client := fake.NewClientset(objects...)
			r := podevents.New(podevents.Config{Client: client, Node: "node"})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			t.Cleanup(func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			w, err := client.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			r.Failed(tc.failure)
			select {
			case got := <-w.ResultChan():
				e := got.Object.(*corev1.Event)
				if e.Reason+" "+e.InvolvedObject.Name != tc.want || e.Type != corev1.EventTypeWarning || !strings.Contains(e.Message, tc.failure.Message) || e.Source.Host != "node" {
					t.Errorf("%+v", e)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("no Event")
			}
		})
	}
}
