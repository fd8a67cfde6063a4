package manifests

import (
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// All that the pod references exists: upstream's chart mounted a ConfigMap that nothing creates.
func TestEveryReferenceResolves(t *testing.T) {
	for name, all := range map[string]objects{
		"base":   kustomized(t),
		"chart":  helmed(t, "ccm", several),
		"chart2": helmed(t, "ccm", `{config: {name: conf}, serviceAccount: {name: me}, credentials: {secretName: mine}}`),
	} {
		t.Run(name, func(t *testing.T) {
			namespace, spec := one[*corev1.ConfigMap](t, all).Namespace, pod(t, all).Spec
			want := func(key string) {
				if all[key] == nil {
					t.Errorf("%s is not there: %v", key, all.keys())
				}
			}
			want("ServiceAccount " + namespace + "/" + spec.ServiceAccountName)
			for _, v := range spec.Volumes {
				want("ConfigMap " + namespace + "/" + v.ConfigMap.Name)
			}
			for _, vc := range loaded(t, all).VCenters {
				if vc.Secret.Name != "west" { // which exists, as the values say
					want("Secret " + vc.Secret.Namespace + "/" + vc.Secret.Name)
				}
			}
		})
	}
}

// The kubelet asks where the program answers: on the loopback address of the node.
func TestProbesAskWhereItAnswers(t *testing.T) {
	for name, all := range map[string]objects{
		"base":       kustomized(t),
		"other port": helmed(t, "kube-system", `health: {port: 10400}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := pod(t, all).Spec.Containers[0]
			for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
				get := probe.HTTPGet
				asked := net.JoinHostPort(get.Host, get.Port.String())
				if answers := flag(t, c, "health-address"); get.Path != path || asked != answers {
					t.Errorf("asks %s%s, answers %s%s", asked, get.Path, answers, path)
				}
			}
		})
	}
}

// The configuration is mounted as a directory, so that it changes when the ConfigMap does.
func TestConfigurationIsWhereItIsRead(t *testing.T) {
	c := pod(t, kustomized(t)).Spec.Containers[0]
	m := c.VolumeMounts[0]
	if file := flag(t, c, "cloud-config"); file != m.MountPath+"/vsphere.conf" || m.SubPath != "" || !m.ReadOnly {
		t.Errorf("reads %s, mounted is %+v", file, m)
	}
}

// flag returns the value of a flag on the command line.
func flag(t *testing.T, c corev1.Container, name string) string {
	t.Helper()
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	t.Fatalf("no --%s in %v", name, c.Args)
	return ""
}
