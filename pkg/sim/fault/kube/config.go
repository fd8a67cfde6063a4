package kube

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// configKey is the key of the cloud config in its ConfigMap.
const configKey = "vsphere.conf"

func configDeleted() *fault.Kind {
	return cloudConfig().deleted(fault.Kind{
		Name: "config.deleted", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "config",
		Short: "deletes the ConfigMap with vsphere.conf",
		Long: "As with a pod, whose files stay when the ConfigMap behind them goes, running processes keep what they have read. " +
			"Healing creates the ConfigMap again from a copy in its namespace, named after the lease.",
	})
}

func configMalformed() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "config.malformed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "config",
		Short: "writes vsphere.conf as people get it wrong",
		Long: "empty has nothing in it; cut-short ends in the middle; tabs is indented as YAML must not be; unknown-key has a key that is none; " +
			"no-vcenters names no vCenter; wrong-server names an address without a vCenter; no-key has the file under another name in the ConfigMap. " +
			"Running processes must keep what they had, and report it; no Node may be deleted for it. Healing restores a copy in the same namespace.",
		Params: []fault.Param{{
			Name: "how", Short: "what is wrong with it", Type: fault.Text, Default: "cut-short",
			Choices: []string{"empty", "cut-short", "tabs", "unknown-key", "no-vcenters", "wrong-server", "no-key"},
		}},
		Reported: []string{"cluster-api-provider-vsphere#1473", "vsphere-csi-driver#1570", "cloud-provider-vsphere#1455"},
	}, fault.Steps[kept]{
		Plan: func(ctx context.Context, c *fault.Call) (kept, string, error) {
			k, m, err := cloudConfig().plan(ctx, c)
			if err != nil {
				return k, "", err
			}
			how := c.Params.Text("how")
			after, err := misread(how, m.Data)
			if err == nil && maps.Equal(after, m.Data) {
				err = fault.Refuse("ConfigMap %s/%s: its %s cannot be made %s", k.Namespace, k.Name, configKey, how)
			}
			return k, "write ConfigMap " + k.Namespace + "/" + k.Name + ": " + how, err
		},
		Apply: func(ctx context.Context, c *fault.Call, k *kept) error {
			return cloudConfig().change(ctx, c, k, func(m *corev1.ConfigMap) {
				if after, err := misread(c.Params.Text("how"), m.Data); err == nil { // or it has changed since the plan
					m.Data = after
				}
			})
		},
		Revert: cloudConfig().restore,
	})
}

// server matches the addresses of vCenters in YAML and in the older INI.
var server = regexp.MustCompile(`(?m)^(\s*"?(?:server|VirtualCenter)"?\s*[:=]?\s*"?)(\d+\.\d+\.\d+\.\d+|[a-z0-9.-]+\.[a-z0-9-]+)`)

// misread returns a copy of data with vsphere.conf broken as how says.
func misread(how string, data map[string]string) (map[string]string, error) {
	after := maps.Clone(data)
	text, ok := data[configKey]
	if !ok {
		return after, nil
	}
	switch how {
	case "empty":
		after[configKey] = ""
	case "cut-short": // within a quoted string, so that no parser accepts it
		after[configKey] = text[:len(text)/2] + "\n  \"cut"
	case "tabs":
		after[configKey] = "global:\n\tport: 443\n" + text
	case "unknown-key":
		after[configKey] = text + "\nglobals:\n  insecure: true\n"
	case "wrong-server":
		after[configKey] = server.ReplaceAllString(text, "${1}127.255.255.254")
	case "no-key":
		delete(after, configKey)
		after["cloud.conf"] = text
	case "no-vcenters":
		var all map[string]any
		if err := yaml.Unmarshal([]byte(text), &all); err != nil {
			return nil, fault.Refuse("%s is no YAML: %v", configKey, err)
		}
		delete(all, "vcenter")
		b, err := yaml.Marshal(all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", configKey, err)
		}
		after[configKey] = string(b)
	}
	return after, nil
}

func secretDeleted() *fault.Kind {
	return credentials().deleted(fault.Kind{
		Name: "secret.deleted", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "secret",
		Short: "deletes the Secret with the credentials for the vCenters",
		Long: "Existing sessions continue; new logins fail. No Node may be deleted for it. " +
			"Healing creates the Secret again from a copy in its namespace, named after the lease.",
		Reported: []string{"cloud-provider-vsphere#479", "cloud-provider-vsphere#774"},
	})
}

func secretMalformed() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "secret.malformed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "secret",
		Short: "writes the Secret with the credentials as people get it wrong",
		Long: "no-password and no-username leave those keys out; empty-password and empty-username leave nothing in them; wrong-password has another; " +
			"wrong-key has keys of a server that there is not; wrong-case has keys in capitals, which names of servers are allowed to be; empty has no key at all. " +
			"Healing restores a copy in the same namespace, named after the lease.",
		Params: []fault.Param{
			{
				Name: "how", Short: "what is wrong with it", Type: fault.Text, Default: "no-password",
				Choices: []string{"no-password", "no-username", "empty-password", "empty-username", "wrong-password", "wrong-key", "wrong-case", "empty"},
			},
			{Name: "server", Short: "the server whose keys are meant, by its host or a URL of it; all, if none is given", Type: fault.Text},
		},
		Reported: []string{"kubernetes#90795", "cloud-provider-vsphere#774", "cluster-api-provider-vsphere#1473"},
	}, fault.Steps[kept]{
		Plan: func(ctx context.Context, c *fault.Call) (kept, string, error) {
			k, s, err := credentials().plan(ctx, c)
			if err != nil {
				return k, "", err
			}
			if maps.EqualFunc(s.Data, malformed(c, s.Data), func(a, b []byte) bool { return string(a) == string(b) }) {
				return k, "", fault.Refuse("Secret %s/%s: has no key that could be made %s", k.Namespace, k.Name, c.Params.Text("how"))
			}
			return k, "write Secret " + k.Namespace + "/" + k.Name + ": " + c.Params.Text("how"), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, k *kept) error {
			return credentials().change(ctx, c, k, func(s *corev1.Secret) { s.Data = malformed(c, s.Data) })
		},
		Revert: credentials().restore,
	})
}

// malformed returns a copy of data, broken as the call asks.
func malformed(c *fault.Call, data map[string][]byte) map[string][]byte {
	how, server := c.Params.Text("how"), strings.ToLower(c.Params.Text("server"))
	if u, err := url.Parse(server); err == nil && u.Hostname() != "" {
		server = u.Hostname()
	}
	server = c.Ground.ClientAddress(server)
	after := map[string][]byte{}
	for key, value := range data {
		field := fieldOf(key)
		if field == "" || server != "" && !strings.HasPrefix(strings.ToLower(key), server+".") {
			after[key] = value
			continue
		}
		switch how {
		case "empty", "no-" + field:
		case "empty-" + field:
			after[key] = nil
		case "wrong-" + field:
			after[key] = append([]byte("not-"), value...)
		case "wrong-key":
			after["nowhere.invalid."+field] = value
		case "wrong-case":
			after[strings.ToUpper(key)] = value
		default:
			after[key] = value
		}
	}
	return after
}

// fieldOf returns the field of a key like SERVER.username, or "".
func fieldOf(key string) string {
	for _, field := range []string{"username", "password"} {
		if strings.HasSuffix(strings.ToLower(key), "."+field) {
			return field
		}
	}
	return ""
}

func ccmTokenRevoked() *fault.Kind {
	return tokenRevoked(fault.Kind{
		Name: "ccm.token-revoked", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered, fault.Children}, Aspect: "token",
		Short: "deletes the ServiceAccount of the cloud controller manager, and its token with it",
		Long: "The API server takes the token for up to ten seconds more, while it remembers to have checked it; then every call is unauthorized. " +
			"Healing creates the ServiceAccount again, whose old tokens stay worthless, hands out a new one, and starts the cloud controller manager again: " +
			"it reads its token once a minute, which is why people delete its pods then.",
	}, func(*fault.Call) (one, error) { return one{ccm}, nil }, restartAll)
}

// tokenRevoked returns a kind that deletes the ServiceAccount of a component; again restarts what uses its token.
func tokenRevoked(k fault.Kind, which picker, again func(context.Context, *fault.Call) error) *fault.Kind {
	return fault.New(k, fault.Steps[corev1.ServiceAccount]{
		Plan: func(ctx context.Context, c *fault.Call) (before corev1.ServiceAccount, does string, err error) {
			o, err := which(c)
			if err != nil {
				return before, "", err
			}
			namespace, name, err := c.Ground.Cluster.Account(o.Component)
			if err != nil {
				return before, "", err
			}
			if _, ok := c.Ground.Processes.(renewer); !ok {
				return before, "", &fault.Refusal{Code: "unsupported", Message: "no controller issues tokens here, so the fault could not be reverted"}
			}
			sa, err := c.Ground.Cluster.Client().CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return before, "", fault.Refuse("ServiceAccount %s/%s not found", namespace, name)
			}
			if err != nil {
				return before, "", err
			}
			before = *sa
			before.ObjectMeta = fresh(sa.ObjectMeta)
			return before, "delete ServiceAccount " + namespace + "/" + name, nil
		},
		Apply: func(ctx context.Context, c *fault.Call, sa *corev1.ServiceAccount) error {
			report(c, "rbac.changed", event.Object{Kind: "ServiceAccount", Name: sa.Name}, "deleted")
			return c.Ground.Cluster.Client().CoreV1().ServiceAccounts(sa.Namespace).Delete(ctx, sa.Name, metav1.DeleteOptions{})
		},
		Revert: func(ctx context.Context, c *fault.Call, sa *corev1.ServiceAccount) error {
			_, err := c.Ground.Cluster.Client().CoreV1().ServiceAccounts(sa.Namespace).Create(ctx, sa, metav1.CreateOptions{})
			if err := unless(err, apierrors.IsAlreadyExists); err != nil {
				return err
			}
			o, err := which(c)
			if err != nil {
				return err
			}
			if p, ok := c.Ground.Processes.(renewer); ok {
				if err := p.RenewToken(ctx, o.Component); err != nil {
					return err
				}
			}
			return again(ctx, c)
		},
	})
}
