package csi

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// webhook is the component of upstream's validating webhook, which is a mode of its syncer.
	webhook = "csi-webhook"
	// webhookAccount is its ServiceAccount, with the name that upstream's manifest has, and the name of its roles.
	webhookAccount = "vsphere-csi-webhook"
	// webhookContainer is its container in upstream's manifest, the pod of which has the account.
	webhookContainer = "vsphere-webhook"
	// webhookKind is the kind of its registration.
	webhookKind = "ValidatingWebhookConfiguration"
)

// NoGuestWebhook is why a guest cluster has no webhook.
const NoGuestWebhook = "upstream's guest flavor has another webhook, with other rules, which the sandbox does not run"

// hook is the server of a validating webhook, and its registration at the API server. With its failure policy, the API server refuses
// what the webhook is to judge while a registered one does not answer: so it is registered once it answers, and withdrawn before it is
// stopped.
type hook struct {
	address string   // 127.0.0.1:PORT
	ca      *cert.CA // of its certificate; made again with each launch

	mu            sync.Mutex                 // held while it is registered or withdrawn
	configuration *unstructured.Unstructured // what to register; nil for nothing
	registered    atomic.Bool
}

// prepare chooses a port, makes a certificate for it, and writes the files that the server reads to dir. It is none that was registered.
func (h *hook) prepare(dir string, o Options) error {
	configuration, err := o.webhookConfiguration()
	if err != nil {
		return err
	}
	free, err := loopback.ListenKept(net.IPv4zero) // upstream's listens on all addresses
	if err != nil {
		return fmt.Errorf("%s: %w", webhook, err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		return err
	}
	ca, err := cert.NewCA("vsphere-sandbox " + webhook)
	if err != nil {
		return err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: webhook, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	conf := fmt.Sprintf("[WebHookConfig]\nport = %q\ncert-file = %q\nkey-file = %q\n", port, certFile, keyFile)
	for path, text := range map[string][]byte{certFile: pair.Cert, keyFile: pair.Key, webhookConfig(dir): []byte(conf)} {
		if err := atomicfile.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.address, h.ca = net.JoinHostPort("127.0.0.1", port), ca
	h.configuration = configuration
	h.registered.Store(false)
	return h.reachByURL()
}

// webhookConfig is the file that the server reads, in its directory.
func webhookConfig(dir string) string { return filepath.Join(dir, "webhook.config") }

// reachByURL has the configuration name the address of the server in place of a Service, which the control plane cannot reach. The
// caller holds mu.
func (h *hook) reachByURL() error {
	all, _, err := unstructured.NestedSlice(h.configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, one := range all {
		w, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("%s %s: a webhook is no object", webhookKind, h.configuration.GetName())
		}
		path, _, err := unstructured.NestedString(w, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		w["clientConfig"] = map[string]any{"url": "https://" + h.address + path, "caBundle": base64.StdEncoding.EncodeToString(h.ca.Cert)}
	}
	h.configuration.SetLabels(map[string]string{deploy.ManagedByLabel: deploy.ManagedBy})
	return unstructured.SetNestedSlice(h.configuration.Object, all, "webhooks")
}

// answers returns nil if the server answers, with the certificate that the API server trusts. The path is none that it serves: it logs
// nothing about such a request.
func (h *hook) answers(ctx context.Context) error {
	h.mu.Lock()
	address, ca := h.address, h.ca
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	switch {
	case err == nil:
		return answer.Body.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("does not listen on %s", address)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("does not answer within %s", probeTime)
	}
	return fmt.Errorf("does not answer: %w", err)
}

// register registers the webhook, unless that is done, or it is withdrawn.
func (h *hook) register(ctx context.Context, client dynamic.Interface) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.registered.Load() || h.configuration == nil {
		return nil
	}
	if err := createAny(ctx, client, h.configuration); err != nil {
		return fmt.Errorf("cannot be registered: %w", err)
	}
	h.registered.Store(true)
	return nil
}

// withdraw deletes the registration, and has none made until the next launch.
func (h *hook) withdraw(ctx context.Context, client dynamic.Interface) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.configuration = nil
	if !h.registered.Load() {
		return nil
	}
	if err := withdrawAll(ctx, client); err != nil {
		return err
	}
	h.registered.Store(false)
	return nil
}

// blocks appends to why the server does not work what that means for users, if it is registered.
func (h *hook) blocks(why string) string {
	if !h.registered.Load() {
		return why
	}
	return why + ": new volumes and changes of claims are refused"
}

// withdrawAll deletes the registrations that the sandbox has made, also one that a snapshot has. The user's own stay.
func withdrawAll(ctx context.Context, client dynamic.Interface) error {
	err := client.Resource(admissionv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")).DeleteCollection(
		ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: deploy.ManagedByLabel + "=" + deploy.ManagedBy})
	if err != nil {
		return fmt.Errorf("registration of %s: %w", webhook, err)
	}
	return nil
}

// askWebhook returns nil if the webhook answers, and is registered.
func (d *Driver) askWebhook(ctx context.Context) error {
	if err := d.hook.answers(ctx); err != nil {
		return errors.New(d.hook.blocks(err.Error()))
	}
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	return d.hook.register(ctx, client)
}

// withdrawLeft deletes what a snapshot has of a registration: its server is gone.
func (d *Driver) withdrawLeft(ctx context.Context) error {
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	return withdrawAll(ctx, client)
}

// withdraw deletes the registration of the webhook that runs.
func (d *Driver) withdraw(ctx context.Context) error {
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return err
	}
	return d.hook.withdraw(ctx, client)
}

// checkWebhook refuses a webhook that the driver does not have.
func (d *Driver) checkWebhook(o Options) error {
	switch {
	case !o.Webhook:
		return nil
	case d.asGuest(o):
		return &api.Error{Code: "invalid", Message: "csi-webhook: " + NoGuestWebhook, Try: "leave the webhook out, or use a topology without a Supervisor"}
	case o.Syncer.Path == "":
		return &api.Error{Code: "invalid", Message: "csi-webhook: " + o.Name() + " has no syncer beside it, which is the program of the webhook", Try: "--syncer PATH"}
	}
	return nil
}

// webhookRights are the rights of the webhook's account.
func (o Options) webhookRights() (rights, error) {
	if o.WebhookManifest != nil {
		return readRights(o.WebhookManifest, webhookContainer)
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return rights{ // those of manifests/vanilla/validatingwebhook.yaml in vsphere-csi-driver v3.7.0
		cluster:    []rbacv1.PolicyRule{rule("snapshot.storage.k8s.io", "volumesnapshots", "get", "list"), rule("", "persistentvolumes", "get")},
		namespaced: []rbacv1.PolicyRule{rule("", "configmaps", "get", "list", "watch")},
	}, nil
}

// webhookConfiguration is the registration of the manifest.
func (o Options) webhookConfiguration() (*unstructured.Unstructured, error) {
	if o.WebhookManifest == nil {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(upstreamWebhook())
		return &unstructured.Unstructured{Object: raw}, err
	}
	var found *unstructured.Unstructured
	err := eachDocument(o.WebhookManifest, func(kind string, raw []byte) error {
		if kind != webhookKind || found != nil {
			return nil
		}
		found = &unstructured.Unstructured{}
		return yaml.Unmarshal(raw, &found.Object)
	})
	if err == nil && found == nil {
		err = fmt.Errorf("manifest of the CSI driver: has no %s", webhookKind)
	}
	return found, err
}

// upstreamWebhook is the registration in manifests/vanilla/validatingwebhook.yaml of vsphere-csi-driver v3.7.0.
func upstreamWebhook() *admissionv1.ValidatingWebhookConfiguration {
	const name = "validation.csi.vsphere.vmware.com"
	rule := func(group, resource string, operations ...admissionv1.OperationType) admissionv1.RuleWithOperations {
		return admissionv1.RuleWithOperations{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1", "v1beta1"}, Resources: []string{resource},
		}}
	}
	claims := rule("", "persistentvolumeclaims", admissionv1.Update, admissionv1.Delete)
	claims.Scope = new(admissionv1.NamespacedScope)
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: webhookKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:         name,
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: new("/validate")}},
			Rules: []admissionv1.RuleWithOperations{
				rule("storage.k8s.io", "storageclasses", admissionv1.Create, admissionv1.Update),
				rule("", "persistentvolumes", admissionv1.Create),
				claims,
			},
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, FailurePolicy: new(admissionv1.Fail),
		}},
	}
}
