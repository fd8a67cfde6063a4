package deploy

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// caKey is the file of the vCenters' certificate authorities, beside the configuration.
const caKey = "vcenter-ca.crt"

// Config is the configuration of a provider or driver.
type Config struct {
	// Conf renders the configuration file for the place it is read from. It is called again for each update.
	Conf func(ConfigLocation) ([]byte, error)
	// CA is the certificate authorities of the vCenters, in PEM. They are a file beside the configuration: Place.CAFile.
	CA []byte
	// Secret is the data of the Secret with the credentials: "HOST.username" and "HOST.password" for every vCenter.
	Secret map[string][]byte
}

// ConfigLocation is where a configuration is read from.
type ConfigLocation struct {
	// File is the configuration's path, CAFile that of the certificate authorities.
	File, CAFile string
	// SecretName and SecretNamespace name the Secret with the credentials. Empty: the manifest has no Secret, and the
	// configuration itself must have the credentials.
	SecretName, SecretNamespace string
}

// layout locates a configuration in the cluster.
type layout struct {
	ConfigLocation
	// holder is the ConfigMap or Secret that is mounted as the folder of the file, key the file's name.
	holder, holderNamespace string
	holderIsSecret          bool
	key                     string
	// image is the image of the container that reads the file, if it is from a manifest.
	image string
}

// write stores the configuration in the cluster: first the Secret, since the file names it.
func (d *Deployment) write(ctx context.Context, l layout, c Config, part string) error {
	conf, err := c.Conf(l.ConfigLocation)
	if err != nil {
		return fmt.Errorf("configuration for %s: %w", l.holder, err)
	}
	if l.SecretName != "" && !(l.holderIsSecret && l.holder == l.SecretName) {
		if err := d.content(ctx, secretOf(l.SecretNamespace, l.SecretName, c.Secret), part); err != nil {
			return err
		}
	}
	files := map[string][]byte{l.key: conf}
	if len(c.CA) > 0 {
		files[caKey] = c.CA
	}
	if l.holderIsSecret {
		return d.content(ctx, secretOf(l.holderNamespace, l.holder, files), part)
	}
	text := map[string]any{}
	for name, data := range files {
		text[name] = string(data)
	}
	return d.content(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": l.holder, "namespace": l.holderNamespace}, "data": text,
	}}, part)
}

func secretOf(namespace, name string, data map[string][]byte) *unstructured.Unstructured {
	encoded := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		encoded[key] = base64.StdEncoding.EncodeToString(data[key])
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "data": encoded,
	}}
}

// content replaces the data of a ConfigMap or Secret: the example keys of a manifest would be read, too.
func (d *Deployment) content(ctx context.Context, o *unstructured.Unstructured, part string) error {
	into, err := d.resource(o)
	if err != nil {
		return err
	}
	mark(o, part)
	d.stamp(o)
	existing, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = into.Create(ctx, o, metav1.CreateOptions{FieldManager: contentManager})
		return named(o, err)
	}
	if err != nil {
		return named(o, err)
	}
	if !ours(existing) {
		return &NotOwnedError{Objects: []string{title(o)}}
	}
	existing = existing.DeepCopy()
	mark(existing, part)
	d.stamp(existing)
	existing.Object["data"] = o.Object["data"]
	delete(existing.Object, "stringData")
	_, err = into.Update(ctx, existing, metav1.UpdateOptions{FieldManager: contentManager})
	return named(o, err)
}

// named adds the object to an error; nil stays nil.
func named(o *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", title(o), err)
}

// CSICredentials returns the Secret with the credentials of the sandbox's own CSI driver. It has the same keys as the
// cloud controller manager's, but is a separate one in another namespace.
func CSICredentials() (namespace, name string) {
	l := ownCSILayout()
	return l.SecretNamespace, l.SecretName
}

// withFlags returns args with flags ("--name=value") appended, or in place of those of the same names.
func withFlags(args []string, flags ...string) []string {
	args = slices.Clone(args)
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if i := flagAt(args, name); i >= 0 {
			args[i] = flag
		} else {
			args = append(args, flag)
		}
	}
	return args
}

// withoutFlags returns args without the flags of these names.
func withoutFlags(args []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}

func flagAt(args []string, name string) int {
	return slices.IndexFunc(args, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
}

// flagValue returns the value of a flag, in either syntax, or "".
func flagValue(args []string, name string) string {
	i := flagAt(args, name)
	switch {
	case i < 0:
		return ""
	case args[i] != name:
		return args[i][len(name)+1:]
	case i+1 < len(args):
		return args[i+1]
	default:
		return ""
	}
}
