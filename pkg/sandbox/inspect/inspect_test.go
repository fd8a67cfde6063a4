package inspect

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

func TestSecretive(t *testing.T) {
	for key, want := range map[string]bool{
		"guestinfo.userdata": true, "guestinfo.metadata": true, "guestinfo.metadata.encoding": false, "guestinfo.hostname": false,
		"guestinfo.ignition.config.data": true, "guestinfo.talos.config": true, "guestInfo.ovfEnv": true,
		"RemoteDisplay.vnc.password": true, "RemoteDisplay.vnc.key": true, "dataFileKey": true, "encryption.bundle": true, "machine.id": true,
		"disk.EnableUUID": false, "svga.vramSize": false, "migrate.encryptionMode": false,
	} {
		if secretive(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

// A tag that cannot be read takes nothing else away.
func TestTagsUnread(t *testing.T) {
	client, err := vcenter.New(vcenter.Config{Name: "us", Server: "127.0.0.1", UserAgent: "test", Insecure: true, Credentials: func(context.Context) (vcenter.Credentials, error) {
		return vcenter.Credentials{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := []explain.VMState{{FromHost: []explain.Object{{Type: "HostSystem", Name: "h", Ref: "host-1"}}}}
	reader{VCenter: VCenter{Client: client}}.tag(ctx, list, map[ref]entity{{Type: "HostSystem", Value: "host-1"}: {name: "h"}})
	if list[0].TagsErr == nil {
		t.Error("tags that were not read are taken for none")
	}
}

// A Service is found by its name where one namespace has it, and a typo gets the nearest one.
func TestFindService(t *testing.T) {
	service := func(namespace, name string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	all := []corev1.Service{service("default", "kubernetes"), service("a", "web"), service("b", "web"), service("b", "db")}
	for name, want := range map[string]string{
		"db": "b/db", "a/web": "a/web", "b/web": "b/web",
		"web":        `service "web": there are 2: a/web, b/web`,
		"kubernets":  `service "kubernets" not found; did you mean "kubernetes"?`,
		"b/wob":      `service "b/wob" not found; did you mean "b/web"?`,
		"something/": `service "something/" not found`,
	} {
		s, err := findService(all, name)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = s.Namespace + "/" + s.Name
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The Events are those on the very object, the oldest first.
func TestEventsOn(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}}
	event := func(name string, last metav1.Time, series metav1.MicroTime) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, LastTimestamp: last, EventTime: series, Message: name,
			InvolvedObject: corev1.ObjectReference{Kind: "Service", UID: "1"},
		}
	}
	client := fake.NewClientset(event("third", at(3), metav1.MicroTime{}), event("first", at(1), metav1.MicroTime{}), event("second", metav1.Time{}, metav1.MicroTime(at(2))))
	all, err := eventsOn(t.Context(), client, s)
	if err != nil || len(all) != 3 || all[0].Name != "first" || all[1].Name != "second" || all[2].Name != "third" {
		t.Errorf("%+v, %v", all, err)
	}
}
