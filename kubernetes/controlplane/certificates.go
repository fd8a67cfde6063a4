package controlplane

import (
	"os"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// fixServing has a component read its serving certificate once. Files would be watched, each component's with an inotify instance, of
// which a user has few; nothing replaces these while the process lives.
func fixServing(serving *genericoptions.GeneratableKeyCert) error {
	files := serving.CertKey
	certificate, err := os.ReadFile(files.CertFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(files.KeyFile)
	if err != nil {
		return err
	}
	serving.CertKey = genericoptions.CertKey{}
	serving.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("serving-cert", certificate, key)
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
