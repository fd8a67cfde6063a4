package cloudconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func secretWith(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// The log names the keys that changed, never a password.
func TestCredentialsChanged(t *testing.T) {
	data := func(kv ...string) map[string][]byte {
		m := map[string][]byte{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = []byte(kv[i+1])
		}
		return m
	}
	for _, tc := range []struct {
		name     string
		old, new map[string][]byte
		want     string
	}{
		{"nothing", data("a", "1"), data("a", "1"), ""},
		{"rotated", data("a.username", "u", "a.password", "secret"), data("a.username", "u", "a.password", "other"), "a.password changed"},
		{"other keys", data("a", "1", "b", "1"), data("b", "2", "c", "1"), "b changed, c added, a removed"},
		{"created again", nil, data("a", "1"), "a added"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conf := ""
			c := newConfig(t, &conf)
			c.credentialsChanged(tc.old, tc.new)
			var want []event.Event
			if tc.want != "" {
				want = append(want, event.Event{
					Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.credentials-changed",
					Object: event.Object{Kind: "Secret", Name: Secret}, Message: tc.want,
				})
			}
			requireEvents(t, c.Log, 0, want...)
		})
	}
}

// The driver gets every change of the cloud controller manager's credentials.
func TestCopyCredentials(t *testing.T) {
	namespace, name := deploy.CSICredentials()
	for _, tc := range []struct {
		name     string
		process  bool
		from, to *corev1.Secret
		want     map[string]string
	}{
		{
			name: "rotated",
			from: secretWith(Namespace, Secret, map[string]string{reached + ".username": "u", reached + ".password": "new"}),
			to:   secretWith(namespace, name, map[string]string{reached + ".username": "u", reached + ".password": "old"}),
			want: map[string]string{reached + ".username": "u", reached + ".password": "new"},
		},
		{
			name: "rotated for a process", process: true,
			from: secretWith(Namespace, Secret, map[string]string{listens + ".username": "u", listens + ".password": "new", "else": "x"}),
			to:   secretWith(namespace, name, map[string]string{reached + ".username": "u", reached + ".password": "old"}),
			want: map[string]string{reached + ".username": "u", reached + ".password": "new", "else": "x"},
		},
		{
			name: "deleted",
			to:   secretWith(namespace, name, map[string]string{reached + ".username": "u", reached + ".password": "old"}),
			want: map[string]string{},
		},
		{
			name: "before the driver is deployed",
			from: secretWith(Namespace, Secret, map[string]string{reached + ".password": "new"}),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conf := ""
			c, p := newConfig(t, &conf), &podsAt{host: reached}
			c.Driver = &Driver{Host: p.Host}
			if !tc.process {
				c.Pods = p
			}
			client := c.Client()
			for _, o := range []*corev1.Secret{tc.from, tc.to} {
				if o == nil {
					continue
				}
				if _, err := client.CoreV1().Secrets(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.CopyCredentials(t.Context()); err != nil {
				t.Fatal(err)
			}
			copied, err := client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if tc.want == nil {
				if err == nil {
					t.Error("a Secret was created")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for key, value := range copied.Data {
				got[key] = string(value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := (&Config{}).CopyCredentials(t.Context()); err != nil { // the cluster is not asked
		t.Error(err)
	}
}
