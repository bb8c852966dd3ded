// Command dns is CoreDNS with the two plugins that a cluster of one node needs: names of services and pods, and an address to
// listen on.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	"github.com/coredns/coredns/coremain"
)

func main() {
	dnsserver.Directives = []string{"bind", "kubernetes"}
	coremain.Run()
}
