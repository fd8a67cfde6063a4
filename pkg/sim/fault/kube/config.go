package kube

import (
	"context"
	"fmt"
	"maps"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// configKey is the key of the cloud config in its ConfigMap.
const configKey = "vsphere.conf"

func configDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "config.deleted", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Touches: "config",
		Short: "deletes the ConfigMap with vsphere.conf",
		Long: "As with a pod, whose files stay when the ConfigMap behind them goes, running processes keep what they have read. " +
			"Healing creates the ConfigMap again from a copy in its namespace, named after the lease.",
	}, fault.Steps[kept]{
		Plan: func(ctx context.Context, c *fault.Call) (kept, string, error) {
			k, _, err := planConfig(ctx, c)
			return k, "delete ConfigMap " + k.Namespace + "/" + k.Name, err
		},
		Apply:  func(ctx context.Context, c *fault.Call, k *kept) error { return k.changeConfig(ctx, c, nil) },
		Revert: func(ctx context.Context, c *fault.Call, k *kept) error { return k.restoreConfig(ctx, c) },
	})
}

func configMalformed() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "config.malformed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Touches: "config",
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
			k, m, err := planConfig(ctx, c)
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
			return k.changeConfig(ctx, c, func(data map[string]string) map[string]string {
				after, err := misread(c.Params.Text("how"), data)
				if err != nil {
					return data // it has changed since the plan
				}
				return after
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, k *kept) error { return k.restoreConfig(ctx, c) },
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
