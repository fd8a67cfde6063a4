package lab

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Names of what a CCM is configured with: those of upstream's release manifests.
const (
	Namespace  = metav1.NamespaceSystem
	SecretName = "vsphere-cloud-secret"
)

// cloudConfig is vsphere.conf for all vCenters, with the credentials in the Secret or, inline, in itself.
func (l *Lab) cloudConfig(inline bool) []byte {
	l.t.Helper()
	c := sim.CloudConfig{CAFile: l.CAFile, SecretName: SecretName, SecretNamespace: Namespace}
	if inline {
		c = sim.CloudConfig{CAFile: l.CAFile}
	}
	conf, err := l.CloudConfig(c)
	if err != nil {
		l.t.Fatal(err)
	}
	return conf
}

// Account is whom the Secret names for a vCenter, with the password that is valid now: an account that may read everything
// and nothing more. Credentials inline in vsphere.conf are the administrator's.
func (l *Lab) Account(vcenter string) sim.User {
	l.t.Helper()
	if v, ok := l.VCenter(vcenter); ok {
		users := v.Users()
		if i := slices.IndexFunc(users, func(u sim.User) bool { return u.Name == ccmName }); i >= 0 {
			return users[i]
		}
	}
	l.t.Fatalf("no account for CCMs at vCenter %q", vcenter)
	return sim.User{}
}

// WriteSecret makes the Secret hold the credentials that are valid now, with those of edit in their places: keys are
// "<host>.username" and "<host>.password". edit may be nil.
func (l *Lab) WriteSecret(edit func(map[string]string)) {
	l.t.Helper()
	data := map[string]string{}
	for _, v := range l.VCenters() {
		u := l.Account(v.Name())
		data[v.Host()+".username"], data[v.Host()+".password"] = u.Name, u.Password
	}
	if edit != nil {
		edit(data)
	}
	if err := l.writeSecret(l.t.Context(), data); err != nil {
		l.t.Fatal(err)
	}
}

func (l *Lab) writeSecret(ctx context.Context, data map[string]string) error {
	secrets := l.Client.CoreV1().Secrets(Namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: Namespace}, StringData: data}
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}
