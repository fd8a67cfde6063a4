package kube

import (
	"context"
	"maps"
	"net/url"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func secretDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "secret.deleted", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Touches: "secret",
		Short: "deletes the Secret with the credentials for the vCenters",
		Long: "Sessions that exist go on; who has to log in again, or starts, cannot. No Node may be deleted for it. " +
			"Healing creates the Secret again from a copy that is kept beside it meanwhile, named after the lease.",
		Reported: []string{"cloud-provider-vsphere#479", "cloud-provider-vsphere#774"},
	}, fault.Steps[kept]{
		Plan: func(ctx context.Context, c *fault.Call) (kept, string, error) {
			k, _, err := planSecret(ctx, c)
			return k, "delete Secret " + k.Namespace + "/" + k.Name, err
		},
		Apply:  func(ctx context.Context, c *fault.Call, k *kept) error { return k.changeSecret(ctx, c, nil) },
		Revert: func(ctx context.Context, c *fault.Call, k *kept) error { return k.restoreSecret(ctx, c) },
	})
}

func secretMalformed() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "secret.malformed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Touches: "secret",
		Short: "writes the Secret with the credentials as people get it wrong",
		Long: "no-password and no-username leave those keys out; empty-password and empty-username leave nothing in them; wrong-password has another; " +
			"wrong-key has keys of a server that there is not; wrong-case has keys in capitals, which names of servers are allowed to be; empty has no key at all. " +
			"Healing writes back what a copy beside it keeps meanwhile, named after the lease.",
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
			k, s, err := planSecret(ctx, c)
			if err != nil {
				return k, "", err
			}
			if maps.EqualFunc(s.Data, malformed(c, s.Data), func(a, b []byte) bool { return string(a) == string(b) }) {
				return k, "", fault.Refuse("Secret %s/%s: has no key that could be made %s", k.Namespace, k.Name, c.Params.Text("how"))
			}
			return k, "write Secret " + k.Namespace + "/" + k.Name + ": " + c.Params.Text("how"), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, k *kept) error {
			return k.changeSecret(ctx, c, func(data map[string][]byte) map[string][]byte { return malformed(c, data) })
		},
		Revert: func(ctx context.Context, c *fault.Call, k *kept) error { return k.restoreSecret(ctx, c) },
	})
}

// malformed returns the data with what the call asks for; data stays as it is.
func malformed(c *fault.Call, data map[string][]byte) map[string][]byte {
	how, server := c.Params.Text("how"), strings.ToLower(c.Params.Text("server"))
	if u, err := url.Parse(server); err == nil && u.Hostname() != "" {
		server = u.Hostname()
	}
	server = c.Ground.Reached(server)
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

// fieldOf tells what a key like SERVER.username holds, "" when it is none of those.
func fieldOf(key string) string {
	for _, field := range []string{"username", "password"} {
		if strings.HasSuffix(strings.ToLower(key), "."+field) {
			return field
		}
	}
	return ""
}
