package controlplane

import (
	"os"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// fixServing has a component keep the serving certificate that it has read. Each component would watch the files with an inotify
// instance, of which a user has few; nothing replaces them while the process lives.
func fixServing(serving *server.SecureServingInfo) (err error) {
	certificate, key := serving.Cert.CurrentCertKeyContent()
	serving.Cert, err = dynamiccertificates.NewStaticCertKeyContent(serving.Cert.Name(), certificate, key)
	return err
}

// fixClientCA is [fixServing] for the clients' authority.
func fixClientCA(clients *genericoptions.ClientCertAuthenticationOptions) error {
	bundle, err := os.ReadFile(clients.ClientCA)
	if err != nil {
		return err
	}
	clients.CAContentProvider, err = dynamiccertificates.NewStaticCAContent("client-ca-bundle", bundle)
	return err
}
