package deployed

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// projected reads what is in a volume now: files by name.
func (p *pod) projected(ctx context.Context, v corev1.Volume) (map[string]string, error) {
	switch {
	case v.ConfigMap != nil:
		return p.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Items)
	case v.Projected != nil:
		files := map[string]string{}
		for _, s := range v.Projected.Sources {
			some, err := p.source(ctx, s)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, some)
		}
		return files, nil
	}
	return nil, fmt.Errorf("volume %s: of a kind that this kubelet has not", v.Name)
}

func (p *pod) source(ctx context.Context, s corev1.VolumeProjection) (map[string]string, error) {
	switch {
	case s.ConfigMap != nil:
		return p.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Items)
	case s.ServiceAccountToken != nil:
		// As kubelets do: the token is worth nothing when the pod is gone.
		token, err := p.w.Client.CoreV1().ServiceAccounts(p.Namespace).CreateToken(ctx, p.Spec.ServiceAccountName,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				ExpirationSeconds: s.ServiceAccountToken.ExpirationSeconds,
				BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID},
			}}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return map[string]string{s.ServiceAccountToken.Path: token.Status.Token}, nil
	case s.DownwardAPI != nil:
		files := map[string]string{}
		for _, item := range s.DownwardAPI.Items {
			value, err := p.field(item.FieldRef)
			if err != nil {
				return nil, err
			}
			files[item.Path] = value
		}
		return files, nil
	}
	return nil, fmt.Errorf("projection %v: of a kind that this kubelet has not", s)
}

func (p *pod) configMap(ctx context.Context, name string, items []corev1.KeyToPath) (map[string]string, error) {
	c, err := p.w.Client.CoreV1().ConfigMaps(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || len(items) == 0 {
		return c.Data, err
	}
	files := map[string]string{}
	for _, item := range items {
		files[item.Path] = c.Data[item.Key]
	}
	return files, nil
}

// field is a value of the downward API.
func (p *pod) field(ref *corev1.ObjectFieldSelector) (string, error) {
	if ref != nil {
		switch ref.FieldPath {
		case "metadata.name":
			return p.Name, nil
		case "metadata.namespace":
			return p.Namespace, nil
		case "metadata.uid":
			return string(p.UID), nil
		}
	}
	return "", fmt.Errorf("field %v: not one that this kubelet has", ref)
}

// write puts files in place as kubelets do, all at once: each is a link through ..data, a link to a folder, which is
// replaced.
func write(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data := filepath.Join(dir, "..data")
	before, _ := os.Readlink(data) // none the first time
	now, err := os.MkdirTemp(dir, "..now_")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(now, name), []byte(files[name]), 0o600); err != nil {
			return err
		}
		link := filepath.Join(dir, name)
		if _, err := os.Lstat(link); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", name), link); err != nil {
			return err
		}
	}
	next := filepath.Join(dir, "..data_next")
	if err := os.Symlink(filepath.Base(now), next); err != nil {
		return err
	}
	if err := os.Rename(next, data); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, before))
}
