package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
)

// objectStore is a cluster that has objects and nothing else.
type objectStore struct {
	cluster.Cluster
	client kubernetes.Interface
}

func (o objectStore) Client() kubernetes.Interface { return o.client }

func secretOf(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// inPods is a sandbox whose vCenter pods reach at 10.96.0.40.
func inPods(t *testing.T) *Sandbox {
	t.Helper()
	s := withVCenters(t, "single")
	s.opts.CSI.Enabled = true
	s.standOn(kind.New(kind.Config{CCM: kind.CCM{Pods: true}}))
	s.pods = newPods(s, nil, nil)
	s.pods.reach([]deploy.Reached{{Name: s.vcenters[0].Name(), Host: "10.96.0.40", Port: 443}})
	return s
}

func TestClientHost(t *testing.T) {
	s := inPods(t)
	name, listens := s.vcenters[0].Name(), s.vcenters[0].Host()
	if got := s.clientHost(name); got != "10.96.0.40" {
		t.Errorf("of pods: %s", got)
	}
	s.standOn(kind.New(kind.Config{})) // a process of this machine
	if got := s.clientHost(name); got != listens {
		t.Errorf("of a process: %s, want %s", got, listens)
	}
	s.pods = nil
	if got := s.clientHost(name); got != listens {
		t.Errorf("before there are pods: %s, want %s", got, listens)
	}
	if got := s.clientHost("none"); got != "" {
		t.Errorf("of no vCenter: %s", got)
	}
}

// What happens to the credentials of the cloud controller manager happens to those of the driver.
func TestCopyCredentials(t *testing.T) {
	const host = "10.96.0.40"
	namespace, name := deploy.CSICredentials()
	s := inPods(t)
	listens := s.vcenters[0].Host()
	for _, tc := range []struct {
		what     string
		process  bool
		from, to *corev1.Secret
		want     map[string]string
	}{
		{
			what: "rotated",
			from: secretOf(cloudNamespace, cloudSecret, map[string]string{host + ".username": "u", host + ".password": "new"}),
			to:   secretOf(namespace, name, map[string]string{host + ".username": "u", host + ".password": "old"}),
			want: map[string]string{host + ".username": "u", host + ".password": "new"},
		},
		{
			what: "rotated for a process", process: true,
			from: secretOf(cloudNamespace, cloudSecret, map[string]string{listens + ".username": "u", listens + ".password": "new", "else": "x"}),
			to:   secretOf(namespace, name, map[string]string{host + ".username": "u", host + ".password": "old"}),
			want: map[string]string{host + ".username": "u", host + ".password": "new", "else": "x"},
		},
		{
			what: "deleted",
			to:   secretOf(namespace, name, map[string]string{host + ".username": "u", host + ".password": "old"}),
			want: map[string]string{},
		},
		{
			what: "before there is a driver",
			from: secretOf(cloudNamespace, cloudSecret, map[string]string{host + ".password": "new"}),
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			client := fake.NewClientset()
			for _, o := range []*corev1.Secret{tc.from, tc.to} {
				if o == nil {
					continue
				}
				if _, err := client.CoreV1().Secrets(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			s.cluster, s.opts.CCM.Program = objectStore{client: client}, ccm.Program{}
			if tc.process {
				s.opts.CCM.Program.Path = "/bin/ccm"
			}
			if err := s.copyCredentials(t.Context()); err != nil {
				t.Fatal(err)
			}
			copied, err := client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if tc.want == nil {
				if err == nil {
					t.Error("there is one")
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
	s.cluster, s.opts.CSI.Enabled = nil, false // nobody is asked
	if err := s.copyCredentials(t.Context()); err != nil {
		t.Error(err)
	}
}
