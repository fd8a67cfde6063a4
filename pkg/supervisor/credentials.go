package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// Objects of a guest cluster, as its add-ons read them.
const (
	// GuestNamespace has them.
	GuestNamespace = "vmware-system-cloud-provider"
	// CredentialsSecret has the keys token, ca.crt and namespace.
	CredentialsSecret = "cloud-provider-creds"
	ownerConfigMap    = "ccm-owner-reference"
	cloudConfigMap    = "ccm-cloud-config"
	// Host is the name by which a guest cluster reaches its Supervisor, and HeadlessService the Service of that name.
	Host            = "supervisor.default.svc"
	headlessService = "supervisor"
)

// Place is where a guest cluster finds its Supervisor.
type Place struct {
	Guest Guest
	// Dir has a folder ccm-provider like a mounted [CredentialsSecret], cluster/ownerref.json and config/cloud-config.
	Dir string
	// CA is the authority of the Supervisor's server, in PEM, and Port its port.
	CA   []byte
	Port int
	// Cluster is a client of the guest cluster's administrator. Its Secret and ConfigMaps are written, too.
	Cluster kubernetes.Interface
}

// CredentialsDir is the folder of [Place].Dir that is like a mounted Secret. OwnerFile and ConfigFile are files in it.
const (
	CredentialsDir = "ccm-provider"
	OwnerFile      = "cluster/ownerref.json"
	ConfigFile     = "config/cloud-config"
)

// tokens keeps the tokens of guest clusters fresh.
type tokens struct {
	s       *Supervisor
	mu      sync.Mutex
	places  []*keeping
	stopped bool // no token is renewed
}

// keeping is an add-on at a place, with the time at which its token must be renewed.
type keeping struct {
	Place
	addOn
	renewAt time.Time
}

// Credentials writes the credentials of a guest cluster to its place, and keeps the token fresh until the Supervisor stops.
func (s *Supervisor) Credentials(ctx context.Context, p Place) error {
	owner, err := s.Owner(ctx, p.Guest)
	if err != nil {
		return err
	}
	body, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	conf := p.storageConfig(owner)
	for file, content := range map[string][]byte{OwnerFile: body, ConfigFile: nil, StorageConfigFile: []byte(conf)} {
		path := filepath.Join(p.Dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
	if err := errors.Join(p.objects(ctx, body), p.storageObjects(ctx, conf)); err != nil {
		return fmt.Errorf("guest cluster %s: %w", p.Guest.Name, err)
	}
	var kept []*keeping
	writing, ctx := errgroup.WithContext(ctx)
	for _, a := range addOns() {
		k := &keeping{Place: p, addOn: a}
		kept = append(kept, k)
		writing.Go(func() error { return s.tokens.write(ctx, k) })
	}
	if err := writing.Wait(); err != nil {
		return err
	}
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	s.tokens.places = append(s.tokens.places, kept...)
	return nil
}

// objects creates the namespace, the ConfigMaps and the Service in the guest cluster.
func (p Place) objects(ctx context.Context, owner []byte) error {
	core := p.Cluster.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: GuestNamespace}}, metav1.CreateOptions{})
	errs := []error{unlessExists(err)}
	for name, data := range map[string]map[string]string{ownerConfigMap: {"ownerref.json": string(owner)}, cloudConfigMap: {"cloud-config": ""}} {
		_, err := core.ConfigMaps(GuestNamespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
		errs = append(errs, unlessExists(err))
	}
	_, err = core.Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: headlessService},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: int32(p.Port)}}},
	}, metav1.CreateOptions{})
	return errors.Join(append(errs, unlessExists(err))...)
}

// write makes a token and writes it to the Secrets and the folder of a place.
func (t *tokens) write(ctx context.Context, k *keeping) error {
	g := k.Guest
	seconds := int64(t.s.opts.TokenLifetime.Seconds())
	r, err := t.s.core.CoreV1().ServiceAccounts(g.Namespace).CreateToken(ctx, k.account(g.Name),
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of guest cluster %s: %w", g.Name, err)
	}
	if err := t.s.opts.OnToken(r.Status.Token); err != nil {
		return err
	}
	data := map[string][]byte{"token": []byte(r.Status.Token), "ca.crt": k.CA, "namespace": []byte(g.Namespace)}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: k.tokenSecret(g.Name), Annotations: map[string]string{corev1.ServiceAccountNameKey: k.account(g.Name)}},
		Type:       corev1.SecretTypeServiceAccountToken, Data: data,
	}
	if err := put(ctx, t.s.core, g.Namespace, secret); err != nil {
		return err
	}
	if err := put(ctx, k.Cluster, k.namespace, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.secret}, Data: data}); err != nil {
		return err
	}
	k.renewAt = time.Now().Round(0).Add(time.Until(r.Status.ExpirationTimestamp.Time) * 4 / 5)
	return atomicfile.WriteMounted(filepath.Join(k.Dir, k.dir), data)
}

// put creates a Secret or replaces its data.
func put(ctx context.Context, client kubernetes.Interface, namespace string, secret *corev1.Secret) error {
	secrets := client.CoreV1().Secrets(namespace)
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("secret %s: %w", secret.Name, err)
	}
	return nil
}

// renewPeriod is how often tokens are looked at.
const renewPeriod = 5 * time.Second

// renew writes new tokens in time, until ctx ends.
func (t *tokens) renew(ctx context.Context) {
	tick := time.NewTicker(renewPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		for _, k := range t.places {
			// By the clock on the wall: a laptop that slept has not counted the time.
			if t.stopped || time.Now().Round(0).Before(k.renewAt) {
				continue
			}
			if err := t.write(ctx, k); err != nil && ctx.Err() == nil {
				t.s.opts.Logger.Error("supervisor", "guest", k.Guest.Name, "err", err)
			}
		}
		t.mu.Unlock()
	}
}

// RotateTokens writes new tokens now. The old ones stay valid until they expire.
func (s *Supervisor) RotateTokens(ctx context.Context) error {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	var errs []error
	for _, k := range s.tokens.places {
		errs = append(errs, s.tokens.write(ctx, k))
	}
	return errors.Join(errs...)
}

// ExpireTokens makes all tokens of guest clusters invalid, as if they had expired, and renews none until [Supervisor.RenewTokens].
func (s *Supervisor) ExpireTokens(ctx context.Context) error {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	s.tokens.stopped = true
	var errs []error
	for _, g := range s.opts.Setup.Guests {
		// A token is valid for the account's UID.
		accounts := s.core.CoreV1().ServiceAccounts(g.Namespace)
		for _, a := range addOns() {
			errs = append(errs, client404(accounts.Delete(ctx, a.account(g.Name), metav1.DeleteOptions{})))
		}
		errs = append(errs, s.grant(ctx, g))
	}
	return errors.Join(errs...)
}

// RenewTokens ends what [Supervisor.ExpireTokens] did.
func (s *Supervisor) RenewTokens(ctx context.Context) error {
	s.tokens.mu.Lock()
	s.tokens.stopped = false
	s.tokens.mu.Unlock()
	return s.RotateTokens(ctx)
}
