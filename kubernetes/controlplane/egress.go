package controlplane

import (
	"encoding/json"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	"k8s.io/apiserver/pkg/server/egressselector"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// egressConfig is the file in the PKI's folder that sends what goes into the cluster's network to the proxy.
const egressConfig = "egress.json"

// writeEgress writes it. Etcd, and webhooks with a URL, are reached directly.
func writeEgress(cfg contract.ControlPlane) error {
	config, err := json.Marshal(apiserverv1beta1.EgressSelectorConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1beta1.SchemeGroupVersion.String(), Kind: "EgressSelectorConfiguration"},
		EgressSelections: []apiserverv1beta1.EgressSelection{{
			Name: egressselector.Cluster.String(),
			Connection: apiserverv1beta1.Connection{
				ProxyProtocol: apiserverv1beta1.ProtocolHTTPConnect,
				Transport:     &apiserverv1beta1.Transport{UDS: &apiserverv1beta1.UDSTransport{UDSName: cfg.Egress}},
			},
		}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(cfg.PKI, egressConfig), config, 0o600)
}

// setUpEgress writes the file, and returns the API server's way into the cluster's network: nil without a proxy.
func setUpEgress(cfg contract.ControlPlane) (utilnet.DialFunc, error) {
	if cfg.Egress == "" {
		return nil, nil
	}
	if err := writeEgress(cfg); err != nil {
		return nil, err
	}
	return egressDialer(cfg)
}

// egressDialer returns the API server's way into the cluster's network, for its neighbors in this process.
func egressDialer(cfg contract.ControlPlane) (utilnet.DialFunc, error) {
	config, err := egressselector.ReadEgressSelectorConfiguration(filepath.Join(cfg.PKI, egressConfig))
	if err != nil {
		return nil, err
	}
	selector, err := egressselector.NewEgressSelector(config)
	if err != nil {
		return nil, err
	}
	return selector.Lookup(egressselector.Cluster.AsNetworkContext())
}
