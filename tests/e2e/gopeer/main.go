// A TLS peer of mobula with Go's crypto/tls. It prints a line of JSON for each session.
//
//	gopeer serve [FLAG…]       an HTTPS server that answers 404; prints its port first
//	gopeer dial ADDR [FLAG…]   one request
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

var curves = map[string]tls.CurveID{"X25519MLKEM768": tls.X25519MLKEM768, "X25519": tls.X25519, "P-256": tls.CurveP256,
	"P-384": tls.CurveP384, "P-521": tls.CurveP521}
var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func check(err error) {
	if err != nil {
		fmt.Println(string(must(json.Marshal(map[string]string{"error": err.Error()}))))
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func tell(s *tls.ConnectionState) {
	kind := ""
	if len(s.PeerCertificates) > 0 {
		kind = fmt.Sprint(s.PeerCertificates[0].PublicKeyAlgorithm, " ", s.PeerCertificates[0].SignatureAlgorithm)
	}
	fmt.Println(string(must(json.Marshal(map[string]string{"version": tls.VersionName(s.Version), "group": s.CurveID.String(),
		"suite": tls.CipherSuiteName(s.CipherSuite), "certificate": kind, "protocol": s.NegotiatedProtocol}))))
}

func pool(file string) *x509.CertPool {
	made := x509.NewCertPool()
	if !made.AppendCertsFromPEM(must(os.ReadFile(file))) {
		log.Fatal(file, ": no certificate")
	}
	return made
}

func main() {
	mode, args := os.Args[1], os.Args[2:]
	addr := ""
	if mode == "dial" {
		addr, args = args[0], args[1:]
	}
	set := flag.NewFlagSet(mode, flag.ExitOnError)
	cert, key := set.String("cert", "", ""), set.String("key", "", "")
	ca := set.String("ca", "", "serve: of client certificates, which are demanded; dial: of the server")
	groups, least, most := set.String("groups", "", ""), set.String("min", "1.2", ""), set.String("max", "1.3", "")
	suite, name := set.String("suite", "", "of TLS 1.2"), set.String("name", "localhost", "")
	check(set.Parse(args))
	config := &tls.Config{MinVersion: versions[*least], MaxVersion: versions[*most], ServerName: *name}
	for _, g := range strings.FieldsFunc(*groups, func(r rune) bool { return r == ',' }) {
		config.CurvePreferences = append(config.CurvePreferences, curves[g])
	}
	for _, s := range tls.CipherSuites() {
		if s.Name == *suite {
			config.CipherSuites = []uint16{s.ID}
		}
	}
	if *cert != "" {
		config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(*cert, *key))}
	}
	if mode == "dial" {
		config.RootCAs = pool(*ca)
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
		answer, err := client.Get("https://" + addr + "/readyz")
		check(err)
		must(io.ReadAll(answer.Body))
		tell(answer.TLS)
		return
	}
	if *ca != "" {
		config.ClientCAs, config.ClientAuth = pool(*ca), tls.RequireAndVerifyClientCert
	}
	plain := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(plain.Addr().(*net.TCPAddr).Port)
	handler := func(w http.ResponseWriter, r *http.Request) {
		tell(r.TLS)
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(404)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
	server := http.Server{Handler: http.HandlerFunc(handler), TLSConfig: config, ErrorLog: log.New(os.Stdout, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}} // no HTTP/2, which demands suites of its own
	check(server.ServeTLS(plain, "", ""))
}
